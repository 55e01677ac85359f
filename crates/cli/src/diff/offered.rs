//! What two servers offer: methods, tools, resources, prompts and their schemas.

use std::collections::BTreeMap;

use crate::describe::offer_json;
use crate::discovery::{Discovered, DiscoverySource};
use crate::recorded::compare::Compare;
use crate::recorded::handles::Handles;
use crate::recorded::ignore::Ignore;
use crate::replay::report::{Row, Verdict};

pub(super) fn compare(a: &Discovered, b: &Discovered, ignore: &Ignore, rows: &mut Vec<Row>) {
    let (old, mut new) = (parts(a), parts(b));
    let handles = Handles::default();
    let compare = Compare { ignore, handles: &handles };
    for (name, was) in old {
        rows.push(match new.remove(&name) {
            Some(now) => Row::compared(name, compare.values(&was, &now)),
            None => Row::new(name, Verdict::Missing),
        });
    }
    rows.extend(new.into_keys().map(|name| Row::new(name, Verdict::Extra)));
    rows.retain(|row| !ignore.has_method(row.name.split(' ').nth(1).unwrap_or_default()));
}

/// Everything that a server offers, by kind and name, as JSON.
fn parts(found: &Discovered) -> BTreeMap<String, String> {
    let kind = if found.via == DiscoverySource::Mcp { "tool" } else { "method" };
    let mut parts = BTreeMap::new();
    for method in &found.document.methods {
        parts.insert(format!("{kind} {}", method.name), serde_json::to_string(method).unwrap_or_default());
    }
    for (name, schema) in &found.document.components.schemas {
        parts.insert(format!("schema {name}"), schema.to_string());
    }
    for offer in &found.offers {
        parts.insert(format!("{} {}", offer.kind.name(), offer.key()), offer_json(offer).to_string());
    }
    parts
}
