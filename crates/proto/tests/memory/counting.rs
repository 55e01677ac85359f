//! An allocator that knows how much memory is in use, and how much was at the most.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Tests run side by side, so each thread counts its own, and only where it is told to.
    static COUNTS: Cell<bool> = const { Cell::new(false) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Counts what `f` takes and gives back. What was taken outside must not be given back here.
pub(crate) fn inside<R>(f: impl FnOnce() -> R) -> R {
    let before = COUNTS.replace(true);
    let result = f();
    COUNTS.set(before);
    result
}

/// Bytes in use that were taken inside.
pub(crate) fn live() -> isize {
    LIVE.get()
}

/// The most that was ever in use.
pub(crate) fn peak() -> isize {
    PEAK.get()
}

fn change(by: isize) {
    if COUNTS.try_with(Cell::get) == Ok(true) {
        LIVE.set(LIVE.get() + by);
        PEAK.set(PEAK.get().max(LIVE.get()));
    }
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        change(layout.size().cast_signed());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        change(layout.size().cast_signed());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        change(size.cast_signed() - layout.size().cast_signed());
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        change(-layout.size().cast_signed());
        unsafe { System.dealloc(at, layout) }
    }
}
