//! What a tool of MCP takes and gives, as `tools/list` shows it.

use std::sync::Arc;

use serde_json::Value;

use crate::json_path::member;
use crate::rules::schemas::{BudgetGuard, MemoryBudget, Mismatch, Schema, value_bytes};

#[derive(Debug, Default)]
pub(crate) struct Tool {
    input: Option<Schema>,
    output: Option<Schema>,
    _guard: Option<BudgetGuard>,
}

impl Tool {
    /// Learns from the tool's entry in a list.
    pub(crate) fn new(entry: &str, budget: &MemoryBudget) -> Self {
        let (input, output) = (member(entry, &["inputSchema"]), member(entry, &["outputSchema"]));
        let bytes = input.map_or(0, value_bytes) + output.map_or(0, value_bytes);
        let Some(taken) = budget.take(bytes) else { return Tool::default() };
        let schema = |text: Option<&str>| {
            let root: Value = serde_json::from_str(text?).ok()?;
            Some(Schema::new(&Arc::new(root), String::new(), text?.len(), budget))
        };
        Tool { input: schema(input), output: schema(output), _guard: Some(taken) }
    }

    /// Whether it says what its structured content is.
    pub(crate) fn has_output(&self) -> bool {
        self.output.is_some()
    }

    pub(crate) fn arguments<'t>(&self, text: &'t str) -> Option<Mismatch<'t>> {
        self.input.as_ref()?.check("`arguments`", text)
    }

    pub(crate) fn content<'t>(&self, text: &'t str) -> Option<Mismatch<'t>> {
        self.output.as_ref()?.check("`structuredContent`", text)
    }
}
