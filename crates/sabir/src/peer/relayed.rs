//! Memory of calls that pass on those of another peer, kept for the next ones: a proxy makes many, all alike.

use std::borrow::Cow;
use std::cell::RefCell;
use std::mem;
use std::sync::Arc;

use crate::RawJson;
use crate::peer::call_slot::CallSlot;

/// Slots that a thread keeps, and the length of a text that is worth keeping.
const KEPT_SLOTS: usize = 1024;
const KEPT_TEXT: usize = 256;

thread_local! {
    static SPARE: RefCell<Vec<Arc<CallSlot>>> = const { RefCell::new(Vec::new()) };
}

/// The texts of a call, as far as they are somewhere else.
#[derive(Default)]
pub(crate) struct KeptText {
    method: String,
    params: Option<RawJson<'static>>,
    result: Option<RawJson<'static>>,
}

impl KeptText {
    /// The method and the params of the next call, in the memory of the last one.
    fn fill(
        &mut self,
        method: &str,
        params: Option<&RawJson<'_>>,
    ) -> (Cow<'static, str>, Option<RawJson<'static>>) {
        let mut text = mem::take(&mut self.method);
        text.clear();
        text.push_str(method);
        let params = params.map(|params| {
            let mut copy = self.params.take().unwrap_or(RawJson::NULL);
            copy.copy_from(params);
            copy
        });
        (Cow::Owned(text), params)
    }

    /// They are sent.
    pub(super) fn take_back(&mut self, method: Cow<'static, str>, params: Option<RawJson<'static>>) {
        if let Cow::Owned(method) = method
            && method.len() <= KEPT_TEXT
        {
            self.method = method;
        }
        self.params = params.filter(is_small).or(self.params.take());
    }

    /// A result that came, in the memory of the last one.
    pub(super) fn copy(&mut self, result: RawJson<'_>) -> RawJson<'static> {
        match self.result.take() {
            Some(mut copy) => {
                copy.copy_from(&result);
                copy
            }
            None => result.into_owned(),
        }
    }
}

fn is_small(text: &RawJson<'_>) -> bool {
    text.as_str().len() <= KEPT_TEXT
}

/// A slot for a call that passes on another one, and the texts to be sent.
pub(super) fn slot(
    method: &str,
    params: Option<&RawJson<'_>>,
) -> (Arc<CallSlot>, Cow<'static, str>, Option<RawJson<'static>>) {
    let spare = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten();
    let mut slot = spare.unwrap_or_else(|| Arc::new(CallSlot::relaying()));
    let mut none = KeptText::default();
    let kept = Arc::get_mut(&mut slot).and_then(CallSlot::kept_text).unwrap_or(&mut none);
    let (method, params) = kept.fill(method, params);
    (slot, method, params)
}

/// The result of a call that was passed on. Dropped, its memory is kept for the next one.
pub(crate) struct Relayed {
    result: RawJson<'static>,
    slot: Option<Arc<CallSlot>>,
}

impl Relayed {
    pub(super) fn new(result: RawJson<'static>, slot: &Arc<CallSlot>) -> Self {
        Relayed { result, slot: Some(Arc::clone(slot)) }
    }

    pub(crate) fn result(&self) -> &RawJson<'static> {
        &self.result
    }

    pub(crate) fn into_result(mut self) -> RawJson<'static> {
        mem::replace(&mut self.result, RawJson::NULL)
    }
}

impl From<RawJson<'static>> for Relayed {
    fn from(result: RawJson<'static>) -> Self {
        Relayed { result, slot: None }
    }
}

impl Drop for Relayed {
    fn drop(&mut self) {
        // Whoever else holds the slot may still use it.
        let Some(mut slot) = self.slot.take() else { return };
        let Some(unshared) = Arc::get_mut(&mut slot) else { return };
        unshared.reset();
        if let Some(kept) = unshared.kept_text() {
            kept.result = Some(mem::replace(&mut self.result, RawJson::NULL)).filter(is_small);
        }
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < KEPT_SLOTS {
                spare.push(slot);
            }
        });
    }
}
