//! All documents that are open on a connection, in the state of the last notification.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use lsp_types::{DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, Uri};
use sabir::internal::lock;
use sabir::{ErrorCode, ErrorObject};

use super::{Document, PositionEncoding};

/// How much a client may have open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentLimits {
    /// Documents. 10,000.
    pub count: usize,
    /// Bytes of all of them, with where their lines begin. 256 MiB, and less than 4 GiB.
    pub bytes: usize,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        DocumentLimits { count: 10_000, bytes: 256 << 20 }
    }
}

/// The documents that are open, as of the last notification that came: see
/// [`LspCtx::documents`](crate::LspCtx::documents). Cheap to clone; all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Documents {
    store: Arc<Mutex<Store>>,
}

#[derive(Debug, Default)]
struct Store {
    open: HashMap<String, Arc<Document>>,
    bytes: usize,
    limits: DocumentLimits,
    encoding: PositionEncoding,
}

impl Documents {
    /// A document that is open. It stays as it is, whatever the client changes later.
    pub fn get(&self, uri: &Uri) -> Option<Arc<Document>> {
        self.lock().open.get(uri.as_str()).cloned()
    }

    /// Whether this is the document as it is now: it is open, and was not changed since.
    pub fn is_current(&self, document: &Document) -> bool {
        let store = self.lock();
        store.open.get(document.uri().as_str()).is_some_and(|now| std::ptr::eq(Arc::as_ptr(now), document))
    }

    /// All that are open, in no particular order.
    pub fn all(&self) -> Vec<Arc<Document>> {
        self.lock().open.values().cloned().collect()
    }

    /// What the columns of positions count.
    pub fn encoding(&self) -> PositionEncoding {
        self.lock().encoding
    }

    pub(crate) fn set_up(&self, encoding: PositionEncoding, limits: DocumentLimits) {
        let mut store = self.lock();
        store.encoding = encoding;
        // Offsets of lines have 32 bits.
        store.limits = DocumentLimits { bytes: limits.bytes.min(u32::MAX as usize), ..limits };
    }

    pub(crate) fn open(&self, params: &DidOpenTextDocumentParams) -> sabir::Result<()> {
        let opened = &params.text_document;
        let mut store = self.lock();
        let before = store.remove(&opened.uri);
        let result = store.insert(opened);
        drop((store, before));
        result
    }

    /// Makes all changes of a notification. If there is no room for them the document is closed: what is left of it is not
    /// what the client has.
    pub(crate) fn change(&self, params: &DidChangeTextDocumentParams) -> sabir::Result<()> {
        let uri = &params.text_document.uri;
        let mut store = self.lock();
        let Store { open, bytes, limits, .. } = &mut *store;
        let Some(document) = open.get_mut(uri.as_str()) else { return Err(not_open(uri)) };
        *bytes -= document.bytes();
        let room = limits.bytes.saturating_sub(*bytes);
        // A copy only if a handler is still looking at it.
        let changed = Arc::make_mut(document);
        changed.version = params.text_document.version;
        let fits = changed.change(&params.content_changes, room);
        if fits && changed.bytes() <= room {
            *bytes += changed.bytes();
            return Ok(());
        }
        open.remove(uri.as_str());
        Err(no_room(limits))
    }

    pub(crate) fn close(&self, params: &DidCloseTextDocumentParams) -> sabir::Result<()> {
        let uri = &params.text_document.uri;
        self.lock().remove(uri).map(drop).ok_or_else(|| not_open(uri))
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }
}

impl Store {
    fn insert(&mut self, opened: &lsp_types::TextDocumentItem) -> sabir::Result<()> {
        if self.open.len() >= self.limits.count {
            let reason = format!("{} documents are open already", self.limits.count);
            return Err(ErrorObject::because(ErrorCode::OVERLOADED, reason));
        }
        self.check(opened.text.len())?;
        let document = Document::new(
            opened.uri.clone(),
            opened.language_id.as_str(),
            opened.version,
            opened.text.as_str(),
            self.encoding,
        );
        self.check(document.bytes())?;
        self.bytes += document.bytes();
        self.open.insert(opened.uri.as_str().to_owned(), Arc::new(document));
        Ok(())
    }

    /// Whether there is room for a document of this size.
    fn check(&self, bytes: usize) -> sabir::Result<()> {
        if bytes <= self.limits.bytes.saturating_sub(self.bytes) {
            return Ok(());
        }
        Err(no_room(&self.limits))
    }

    fn remove(&mut self, uri: &Uri) -> Option<Arc<Document>> {
        let document = self.open.remove(uri.as_str())?;
        self.bytes -= document.bytes();
        Some(document)
    }
}

fn no_room(limits: &DocumentLimits) -> ErrorObject {
    let reason = format!("open documents would take more than {} bytes", limits.bytes);
    ErrorObject::because(ErrorCode::OVERLOADED, reason)
}

pub(crate) fn not_open(uri: &Uri) -> ErrorObject {
    ErrorObject::because(ErrorCode::INVALID_PARAMS, format!("`{}` is not open", uri.as_str()))
}
