//! Lists of named things, in the order in which they were added.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;

/// Things by name and in order. Once there has been one, the server offers them, even if all are removed.
pub(crate) struct Named<T> {
    order: Vec<Arc<T>>,
    /// The names are our own, so a plain fast hash will do.
    by_name: HashMap<String, Arc<T>, FixedState>,
    offered: bool,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named { order: Vec::new(), by_name: HashMap::default(), offered: false }
    }
}

impl<T> Named<T> {
    /// Adds one, in the place of its namesake if there is one.
    pub(crate) fn add(&mut self, name: String, thing: T) {
        let thing = Arc::new(thing);
        self.offered = true;
        match self.by_name.insert(name, Arc::clone(&thing)) {
            Some(old) => {
                if let Some(place) = self.order.iter_mut().find(|other| Arc::ptr_eq(other, &old)) {
                    *place = thing;
                }
            }
            None => self.order.push(thing),
        }
    }

    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let Some(old) = self.by_name.remove(name) else { return false };
        self.order.retain(|other| !Arc::ptr_eq(other, &old));
        true
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<T>> {
        self.by_name.get(name).cloned()
    }

    pub(crate) fn list(&self) -> &[Arc<T>] {
        &self.order
    }

    pub(crate) fn is_offered(&self) -> bool {
        self.offered
    }
}
