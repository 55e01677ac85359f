//! Wakes a thread that is in `poll(2)`.

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
mod eventfd;
#[cfg(any(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")), test))]
mod pipe;

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
pub(super) use eventfd::WakeFd;
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
pub(super) use pipe::WakeFd;

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::sync::Arc;
    use std::task::Waker;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_readable(fd: &impl AsFd) -> bool {
        let mut fds = [PollFd::new(fd, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).is_ok_and(|count| count == 1)
    }

    /// One `clear` is enough for any number of wakes.
    fn check<B: AsFd + std::task::Wake + Send + Sync + 'static>(wake_fd: B, clear: impl Fn(&B)) {
        let wake_fd = Arc::new(wake_fd);
        let waker = Waker::from(Arc::clone(&wake_fd));
        assert!(!is_readable(&wake_fd));
        for _ in 0..2 {
            (0..100_000).for_each(|_| waker.wake_by_ref());
            assert!(is_readable(&wake_fd));
            clear(&wake_fd);
            assert!(!is_readable(&wake_fd));
        }
    }

    #[test]
    fn it_is_readable_until_cleared() {
        check(super::WakeFd::new().expect("an eventfd"), super::WakeFd::clear);
        check(super::pipe::WakeFd::new().expect("a pipe"), super::pipe::WakeFd::clear);
    }
}
