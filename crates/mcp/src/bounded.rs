//! Maps and lists of a peer's, which are not read to their end if they have too many entries: a text of 16 MiB has room
//! for millions, each of which takes many times its text once it is read.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// A map with at most `MOST` entries.
#[derive(Debug)]
pub(crate) struct BoundedMap<V, const MOST: usize = 1024>(pub(crate) BTreeMap<String, V>);

impl<V, const MOST: usize> Default for BoundedMap<V, MOST> {
    fn default() -> Self {
        BoundedMap(BTreeMap::new())
    }
}

impl<'de, V: Deserialize<'de>, const MOST: usize> Deserialize<'de> for BoundedMap<V, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading<V, const MOST: usize>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>, const MOST: usize> Visitor<'de> for Reading<V, MOST> {
            type Value = BoundedMap<V, MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some((name, value)) = map.next_entry()? {
                    entries.insert(name, value);
                    if entries.len() > MOST {
                        return Err(A::Error::custom(format_args!("more than {MOST} entries")));
                    }
                }
                Ok(BoundedMap(entries))
            }
        }

        deserializer.deserialize_map(Reading(PhantomData))
    }
}

/// A list with at most `MOST` entries, for `deserialize_with`.
pub(crate) fn list<'de, const MOST: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct Reading<T, const MOST: usize>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Reading<T, MOST> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = list.next_element()? {
                if entries.len() == MOST {
                    return Err(A::Error::custom(format_args!("more than {MOST} entries")));
                }
                entries.push(entry);
            }
            Ok(entries)
        }
    }

    deserializer.deserialize_seq(Reading::<T, MOST>(PhantomData))
}
