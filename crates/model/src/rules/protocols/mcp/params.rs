//! The params of a message, whose members many rules look at.

use crate::json_path::Object;

#[derive(Clone, Copy)]
pub(super) struct Params<'t> {
    /// As they are written, if there are any.
    pub(super) text: Option<&'t str>,
    members: Object<'t>,
    /// `_meta`, if they have it.
    pub(super) meta: Option<&'t str>,
    of_meta: Object<'t>,
}

impl<'t> Params<'t> {
    pub(super) fn new(text: Option<&'t str>) -> Self {
        let members = Object::of(text.unwrap_or_default());
        let meta = members.get("_meta");
        Params { text, members, meta, of_meta: Object::of(meta.unwrap_or_default()) }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'t str> {
        self.members.get(name)
    }

    /// A member of `_meta`.
    pub(super) fn in_meta(&self, key: &str) -> Option<&'t str> {
        self.of_meta.get(key)
    }
}
