//! `sabir view`: what was captured, for a person to look at.

mod api;
mod browser;
mod capture;
mod chosen;
mod copy;
mod detail;
mod export;
mod row;
mod stats;
mod web;

pub(crate) use browser::View;
