//! A map for keys that nobody chooses to collide, quicker than the standard one.

use std::collections::HashMap;

use foldhash::fast::FixedState;

pub(crate) type Map<K, V> = HashMap<K, V, FixedState>;
