//! How buffers grow that a peer can fill: by doubling while they are small, by a quarter once they are not, so
//! that what is reserved stays close to what is counted.

/// From here on a buffer grows by a quarter.
const LARGE: usize = 64 * 1024;

fn ahead(size: usize, capacity: usize, needed: usize) -> usize {
    let step = if capacity * size < LARGE { capacity } else { capacity / 4 };
    needed.max(capacity + step)
}

/// Makes room for `more` elements.
#[inline]
pub(super) fn reserve<T>(list: &mut Vec<T>, more: usize) {
    let needed = list.len() + more;
    if needed > list.capacity() {
        list.reserve_exact(ahead(size_of::<T>(), list.capacity(), needed) - list.len());
    }
}

/// Makes room for `more` bytes of text.
#[inline]
pub(super) fn reserve_text(text: &mut String, more: usize) {
    let needed = text.len() + more;
    if needed > text.capacity() {
        text.reserve_exact(ahead(1, text.capacity(), needed) - text.len());
    }
}

/// Makes room for one more element.
#[inline]
pub(super) fn reserve_one<T>(queue: &mut std::collections::VecDeque<T>) {
    let needed = queue.len() + 1;
    if needed > queue.capacity() {
        queue.reserve_exact(ahead(size_of::<T>(), queue.capacity(), needed.max(4)) - queue.len());
    }
}
