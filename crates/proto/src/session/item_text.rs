//! Items that are notifications with methods of their own, which name their subscription in `_meta`.

use super::publish::META_ID;
use crate::json::cursor::Cursor;
use crate::json::raw::{JsonKind, RawJson};
use crate::json::string::JsonStr;
use crate::message::encode;
use crate::message::id::Id;

/// Writes the notification that `item`, an object with `method` and `params`, stands for. `None` if it is not one.
pub(super) fn write_listened(out: &mut Vec<u8>, id: &str, item: &[u8]) -> Option<()> {
    let item = Cursor::trusted(std::str::from_utf8(item).ok()?);
    let method = item.member("method").and_then(JsonStr::trusted)?.value()?;
    let params = item.member("params").unwrap_or("{}");
    if JsonKind::of(params) != JsonKind::Object {
        return None;
    }
    encode::call_head(out, None, &method);
    out.extend_from_slice(b",\"params\":{\"_meta\":{");
    encode::string(out, META_ID);
    out.push(b':');
    out.extend_from_slice(id.as_bytes());
    let mut rest = Vec::new();
    for (name, value) in Cursor::trusted(params).members() {
        if name.is("_meta") {
            for (name, value) in Cursor::trusted(value).members().filter(|(name, _)| !name.is(META_ID)) {
                push_member(out, name, value);
            }
        } else {
            push_member(&mut rest, name, value);
        }
    }
    out.push(b'}');
    out.extend_from_slice(&rest);
    out.extend_from_slice(b"}}");
    Some(())
}

fn push_member(out: &mut Vec<u8>, name: JsonStr<'_>, value: &str) {
    out.push(b',');
    out.extend_from_slice(name.text().as_bytes());
    out.push(b':');
    out.extend_from_slice(value.as_bytes());
}

/// The number of the call whose subscription these params belong to.
pub(super) fn listened_call(params: &str) -> Option<u64> {
    let meta = Cursor::trusted(params).member("_meta")?;
    Id::from_json(RawJson::trusted(Cursor::trusted(meta).member(META_ID)?))?.as_u64()
}

/// A notification as an item: an object with `method` and `params`.
pub(super) fn listened(method: &str, params: &str) -> String {
    let mut out = b"{\"method\":".to_vec();
    encode::string(&mut out, method);
    out.extend_from_slice(b",\"params\":");
    out.extend_from_slice(params.as_bytes());
    out.push(b'}');
    String::from_utf8(out).unwrap_or_default()
}
