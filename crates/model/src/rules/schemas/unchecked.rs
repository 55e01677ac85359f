//! In the place of schemas, where there is no validator: everything matches.

use std::sync::Arc;

use serde_json::Value;

use super::{Mismatch, Room};

#[derive(Debug)]
pub(super) struct Schema;

impl Schema {
    pub(super) fn new(_: &Arc<Value>, _: String, _: usize, _: &Room) -> Self {
        Schema
    }

    pub(super) fn unusable(&self) -> Option<&str> {
        None
    }

    pub(super) fn check<'t>(&self, _: &str, _: &'t str) -> Option<Mismatch<'t>> {
        None
    }
}
