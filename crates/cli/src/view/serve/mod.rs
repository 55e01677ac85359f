//! What is served: the page and what it asks for, and the tools of an MCP server.

mod api;
mod copy;
mod detail;
mod export;
mod feed;
mod files;
mod guard;
mod har;
mod mcp;
mod query;
mod row;
mod server;

pub(super) use mcp::mcp;
pub(crate) use server::{Page, Sender, Sent};
