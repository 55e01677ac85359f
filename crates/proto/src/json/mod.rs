//! JSON text: checking it, finding what is in it, keeping it as it is.

pub(crate) mod cursor;
pub(crate) mod de;
pub(crate) mod decimal;
pub(crate) mod find;
pub(crate) mod partial;
pub(crate) mod raw;
pub(crate) mod scan;
pub(crate) mod string;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;
