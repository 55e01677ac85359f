//! What handlers keep for a connection, one value of each type.

use std::any::Any;
use std::sync::{Arc, OnceLock};

/// Values are added and never taken away, so that they are found without a lock: a protocol may look for its own with
/// each request.
#[derive(Default)]
pub(super) struct Extensions(OnceLock<Box<Extension>>);

struct Extension {
    value: Arc<dyn Any + Send + Sync>,
    /// Those that were added behind it.
    rest: Extensions,
}

impl Extensions {
    /// The value of this type, which is made if there is none.
    pub(super) fn get<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let mut place = self;
        loop {
            let Extension { value, rest } = &**place.0.get_or_init(|| {
                Box::new(Extension { value: Arc::new(T::default()), rest: Extensions::default() })
            });
            if (**value).is::<T>()
                && let Ok(value) = Arc::clone(value).downcast()
            {
                return value;
            }
            // Another type has the place, or was faster.
            place = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use std::sync::Barrier;
    use std::sync::atomic::AtomicU8;
    use std::thread;

    use super::*;

    #[test]
    fn there_is_one_of_each_type_whoever_comes_first() {
        let (extensions, together) = (Extensions::default(), Barrier::new(4));
        let places = thread::scope(|scope| {
            let threads = [0, 1, 2, 3].map(|turn| {
                let (extensions, together) = (&extensions, &together);
                scope.spawn(move || {
                    together.wait();
                    let other = (turn % 2 == 0).then(|| extensions.get::<String>());
                    let number = extensions.get::<AtomicU8>();
                    drop(other);
                    (Arc::as_ptr(&number) as usize, Arc::as_ptr(&extensions.get::<String>()) as usize)
                })
            });
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(places, [places[0]; 4]);
    }
}
