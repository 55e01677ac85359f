//! What the peer offers, as far as it is known: it is asked while the first line is typed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sabir::openrpc::Method;

use crate::discovery::Discovered;

#[derive(Debug, Clone, Default)]
pub(super) struct Known(Arc<Mutex<Option<Discovered>>>);

impl Known {
    pub(super) fn set(&self, found: Option<Discovered>) {
        *self.lock() = found;
    }

    pub(super) fn with<T>(&self, look: impl FnOnce(&Discovered) -> T) -> Option<T> {
        self.lock().as_ref().map(look)
    }

    /// The names that can be called and begin with a text.
    pub(super) fn names(&self, start: &str) -> Vec<String> {
        let names = self.with(|found| {
            let methods = found.document.methods.iter().map(|method| method.name.clone());
            let offers = found.offers.iter().map(|offer| offer.key().to_owned());
            // A template is not an address yet.
            methods.chain(offers).filter(|name| name.starts_with(start) && !name.contains('{')).collect()
        });
        names.unwrap_or_default()
    }

    /// The params of a method, a tool or a prompt, and whether each is text.
    pub(super) fn params(&self, name: &str) -> Vec<Param> {
        let is_text = |method: &Method, i: usize| {
            method.params[i].schema.get("type").is_some_and(|kind| kind == "string")
        };
        let params = self.with(|found| {
            if let Some(method) = found.document.methods.iter().find(|method| method.name == name) {
                // One that stands for all has no name.
                let named = method.params.iter().enumerate().filter(|(_, param)| !param.whole);
                return named
                    .map(|(i, param)| Param {
                        name: param.name.clone(),
                        is_text: is_text(method, i),
                        required: param.required,
                    })
                    .collect();
            }
            let offer = found.offers.iter().find(|offer| offer.key() == name);
            let arguments = offer.into_iter().flat_map(|offer| &offer.arguments);
            arguments
                .map(|argument| Param {
                    name: argument.name.clone(),
                    is_text: true,
                    required: argument.required,
                })
                .collect()
        });
        params.unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Discovered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Param {
    pub(super) name: String,
    pub(super) is_text: bool,
    pub(super) required: bool,
}
