//! What is served: the page and what it asks for, and the tools of an MCP server.

mod api;
mod copy;
mod detail;
mod exchange;
mod export;
mod feed;
mod files;
mod guard;
mod har;
mod mcp;
mod query;
mod related;
mod row;
mod save;
mod server;
mod strangers;

pub(super) use mcp::mcp;
pub(super) use save::save;
pub(super) use server::Served;
pub(crate) use server::{Page, Sender, Sent};
