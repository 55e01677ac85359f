//! Whether a request means this machine.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether a `Host` names this machine. With a port it must be that one; without, any: there may be a tunnel.
pub(crate) fn is_here(host: &str, port: Option<u16>) -> bool {
    let (name, at) = match host.rsplit_once(':') {
        Some((name, at)) if !at.ends_with(']') => (name, Some(at)),
        _ => (host, None),
    };
    let is_port = match (port, at) {
        (Some(port), Some(at)) => at.bytes().all(|byte| byte.is_ascii_digit()) && at.parse() == Ok(port),
        (Some(_), None) => false,
        (None, _) => true,
    };
    let is_name = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(address) => address.parse().is_ok_and(|address: Ipv6Addr| address.is_loopback()),
        None => {
            name.eq_ignore_ascii_case("localhost")
                || name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
        }
    };
    is_port && is_name
}

#[cfg(test)]
mod tests {
    use super::is_here;

    #[test]
    fn only_this_machine_is_here() {
        for (host, at_4000, anywhere) in [
            ("127.0.0.1:4000", true, true),
            ("127.9.9.9:4000", true, true),
            ("localhost:4000", true, true),
            ("LOCALHOST:4000", true, true),
            ("[::1]:4000", true, true),
            ("127.0.0.1", false, true),
            ("localhost", false, true),
            ("[::1]", false, true),
            ("127.0.0.1:4001", false, true),
            ("127.0.0.1:+4000", false, true),
            ("", false, false),
            (":4000", false, false),
            ("10.0.0.1:4000", false, false),
            ("evil.example:4000", false, false),
            ("127.0.0.1.evil.example:4000", false, false),
            ("localhost.evil.example:4000", false, false),
            ("localhost.:4000", false, false),
            ("::1:4000", false, false),
            ("[127.0.0.1]:4000", false, false),
        ] {
            assert_eq!((is_here(host, Some(4000)), is_here(host, None)), (at_4000, anywhere), "{host}");
        }
    }
}
