//! URLs of servers: the one place that knows their schemes, and what is a URL and what is not.

use std::fmt;
use std::io;

use fluent_uri::component::Host;
use fluent_uri::{Uri, UriRef};

/// What a URL's scheme says about the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// `tcp://`
    Tcp,
    /// `tls://`
    Tls,
    /// `http://`
    Http,
    /// `https://`
    Https,
    /// `ws://`
    Ws,
    /// `wss://`
    Wss,
    /// `unix:`
    Unix,
    /// `pipe:`, on Windows
    Pipe,
    /// `nats://`
    Nats,
    /// `nats+tls://`
    NatsTls,
}

impl Scheme {
    const ALL: [Scheme; 10] = [
        Scheme::Tcp,
        Scheme::Tls,
        Scheme::Http,
        Scheme::Https,
        Scheme::Ws,
        Scheme::Wss,
        Scheme::Unix,
        Scheme::Pipe,
        Scheme::Nats,
        Scheme::NatsTls,
    ];

    /// The scheme of this name, in letters of any case.
    pub fn parse(name: &str) -> Option<Scheme> {
        Scheme::ALL.into_iter().find(|scheme| scheme.name().eq_ignore_ascii_case(name))
    }

    /// Its name, as in `http`.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Tcp => "tcp",
            Scheme::Tls => "tls",
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Ws => "ws",
            Scheme::Wss => "wss",
            Scheme::Unix => "unix",
            Scheme::Pipe => "pipe",
            Scheme::Nats => "nats",
            Scheme::NatsTls => "nats+tls",
        }
    }

    /// Whether TLS is spoken.
    pub fn is_secure(self) -> bool {
        matches!(self, Scheme::Tls | Scheme::Https | Scheme::Wss | Scheme::NatsTls)
    }

    /// Whether messages are posted over HTTP.
    pub fn is_http(self) -> bool {
        matches!(self, Scheme::Http | Scheme::Https)
    }

    /// Whether messages go over a WebSocket.
    pub fn is_websocket(self) -> bool {
        matches!(self, Scheme::Ws | Scheme::Wss)
    }

    /// Whether a connection begins with a request of HTTP, and so has headers and whole messages. Others are streams
    /// of bytes with a framing.
    pub fn is_web(self) -> bool {
        self.is_http() || self.is_websocket()
    }

    /// Whether a service is called through a server of NATS.
    pub fn is_nats(self) -> bool {
        matches!(self, Scheme::Nats | Scheme::NatsTls)
    }

    /// Whether it is for streams inside one machine, which have a path or a name.
    fn is_local(self) -> bool {
        matches!(self, Scheme::Unix | Scheme::Pipe)
    }

    /// The scheme and the address of a `unix:` or `pipe:` URL, with or without the slashes of an empty host.
    /// `None` for other URLs.
    pub(crate) fn split_local(text: &str) -> Option<(Scheme, &str)> {
        let (name, address) = text.split_once(':')?;
        let local = Scheme::parse(name).filter(|scheme| scheme.is_local() && scheme.name() == name);
        Some((local?, address.strip_prefix("//").unwrap_or(address)))
    }

    /// The port of URLs that name none.
    pub fn default_port(self) -> Option<u16> {
        match self {
            Scheme::Http | Scheme::Ws => Some(80),
            Scheme::Https | Scheme::Wss => Some(443),
            Scheme::Nats | Scheme::NatsTls => Some(4222),
            Scheme::Tcp | Scheme::Tls | Scheme::Unix | Scheme::Pipe => None,
        }
    }
}

/// The URL of a server to connect to. One that exists is complete: a host and a port, the path of a socket, or the name of a pipe.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Url {
    text: String,
    scheme: Scheme,
    /// Without the brackets of an IPv6 address; the path of a Unix socket; the name of a
    /// named pipe.
    host: String,
    port: u16,
    /// As it stands in the URL: with brackets, and with the port if that is given.
    authority: String,
    /// Path and query, as they are sent.
    path: String,
    /// A name and a password, or a token: only servers of NATS are told that way.
    userinfo: Option<Secret>,
}

/// What stands before the host. It is never printed.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Appended when a text is not a URL.
const EXPECTED: &str = "expected http(s)://, ws(s)://, tcp://HOST:PORT, tls://HOST:PORT, nats://HOST/SERVICE or \
                        unix:PATH (on Windows pipe:NAME)";

/// Why a text is not the URL of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlError(String);

impl Url {
    /// Reads a URL by RFC 3986. Nothing is repaired: what is not one is refused.
    pub fn parse(text: &str) -> Result<Url, UrlError> {
        let wrong = |why: &dyn fmt::Display| UrlError(format!("`{text}` is not a valid URL: {why}"));
        if let Some((scheme, address)) = Scheme::split_local(text) {
            return match address.is_empty() {
                true if scheme == Scheme::Pipe => Err(UrlError(format!("`{text}` names no pipe"))),
                true => Err(UrlError(format!("`{text}` names no path"))),
                false => Ok(Url {
                    text: text.to_owned(),
                    scheme,
                    host: address.to_owned(),
                    port: 0,
                    authority: String::new(),
                    path: String::new(),
                    userinfo: None,
                }),
            };
        }
        if let Some(nats) =
            text.split_once("://").filter(|(name, _)| Scheme::parse(name).is_some_and(Scheme::is_nats))
        {
            return Url::parse_nats(nats);
        }
        // Before anything else is found wrong: what is wrong is told with the text, and it has a password in it.
        if text.split_once("://").is_some_and(|(_, rest)| {
            let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
            authority.contains('@')
        }) {
            let reason = "a name and a password belong in an `Authorization` header, not in the URL";
            return Err(UrlError(reason.to_owned()));
        }
        let known = text.split_once("://").and_then(|(name, _)| Scheme::parse(name));
        let Some(scheme) = known.filter(|scheme| !scheme.is_local()) else {
            return Err(wrong(&EXPECTED));
        };
        let uri = Uri::parse(text).map_err(|error| match text.is_ascii() {
            true => wrong(&error),
            false => {
                wrong(&"it is not ASCII: write international names as xn--…, and other characters as %C3%A9")
            }
        })?;
        let authority = uri.authority().ok_or_else(|| wrong(&"it names no host"))?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        match authority.host_parsed() {
            _ if host.is_empty() => return Err(UrlError(format!("`{text}` names no host"))),
            Host::RegName(name) if name.as_str().contains('%') => {
                return Err(wrong(&"its host has escapes with %"));
            }
            Host::IpvFuture { .. } => return Err(wrong(&"its host is not an address that is known")),
            _ => {}
        }
        let port =
            match authority.port().map(|port| port.as_str()) {
                Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or_else(|| {
                    wrong(&format_args!("its port `{port}` is not a number from 1 to 65535"))
                })?,
                None => scheme.default_port().ok_or_else(|| {
                    UrlError(format!("`{text}` names no port: write it as {}://{host}:PORT", scheme.name()))
                })?,
            };
        let (path, query) = (uri.path().as_str(), uri.query().map(|query| query.as_str()));
        if !scheme.is_web() && (!["", "/"].contains(&path) || query.is_some() || uri.has_fragment()) {
            return Err(UrlError(format!("`{text}` must name a host and a port, and nothing else")));
        }
        let path = match (path, query) {
            ("", query) => format!("/{}", query.map_or_else(String::new, |query| format!("?{query}"))),
            (path, Some(query)) => format!("{path}?{query}"),
            (path, None) => path.to_owned(),
        };
        Ok(Url {
            scheme,
            host: host.to_owned(),
            port,
            authority: authority.as_str().to_owned(),
            path,
            text: text.to_owned(),
            userinfo: None,
        })
    }

    /// `nats://USER:PASSWORD@HOST:PORT,HOST:PORT/SERVICE`: with credentials or without, one server or several, a service
    /// or none.
    fn parse_nats((name, rest): (&str, &str)) -> Result<Url, UrlError> {
        let scheme = Scheme::parse(name).filter(|scheme| scheme.is_nats()).unwrap_or(Scheme::Nats);
        let name = scheme.name();
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (userinfo, hosts) = match authority.rsplit_once('@') {
            Some((userinfo, hosts)) => (Some(Secret(userinfo.to_owned())), hosts),
            None => (None, authority),
        };
        // What is told of it has no password in it.
        let text = format!("{name}://{hosts}{path}");
        let service = path.strip_prefix('/').unwrap_or(path);
        let is_named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if !service.chars().all(is_named) {
            let reason = "a service has letters, digits, - and _ in its name, and nothing follows it";
            return Err(UrlError(format!("`{text}` is not a valid URL: {reason}")));
        }
        // Each host by the rules of all URLs, and the first one is the one to begin with.
        let mut first = None;
        for host in hosts.split(',') {
            let with_port = match host.ends_with(']') || !host.contains(':') {
                true if !host.is_empty() => {
                    format!("tcp://{host}:{}", scheme.default_port().unwrap_or_default())
                }
                _ => format!("tcp://{host}"),
            };
            let parsed = Url::parse(&with_port).map_err(|_| {
                UrlError(format!("`{text}` is not a valid URL: `{host}` is not a host and a port"))
            })?;
            first.get_or_insert(parsed);
        }
        let Some(first) = first else { return Err(UrlError(format!("`{text}` names no host"))) };
        let (authority, path) = (hosts.to_owned(), format!("/{service}"));
        Ok(Url { text, scheme, authority, path, userinfo, ..first })
    }

    /// Whether it has a name, a password or a token before its host.
    #[cfg(feature = "nats")]
    pub fn has_credentials(&self) -> bool {
        self.userinfo().is_some()
    }

    /// The name and the password, or the token, that servers of NATS are told.
    #[cfg(feature = "nats")]
    pub(crate) fn userinfo(&self) -> Option<&str> {
        self.userinfo.as_ref().map(|userinfo| userinfo.0.as_str())
    }

    /// A service at the same servers of NATS, with the same credentials.
    #[cfg(feature = "nats")]
    pub fn with_service(&self, name: &str) -> Result<Url, UrlError> {
        let host = self.text.strip_suffix(self.path()).unwrap_or(&self.text);
        let userinfo = self.userinfo.clone();
        Url::parse(&format!("{}/{name}", host.trim_end_matches('/'))).map(|url| Url { userinfo, ..url })
    }

    /// The URL that a reference of a document at this URL names, by RFC 3986, if it has the same origin: the same
    /// scheme, host and port. What is sent may hold secrets, which are not for other servers.
    pub fn join_same_origin(&self, reference: &str) -> Option<Url> {
        let base = Uri::parse(self.text.split('#').next()?).ok()?;
        let joined = UriRef::parse(reference.trim_ascii()).ok()?.resolve_against(&base).ok()?;
        let url = Url::parse(joined.as_str()).ok()?;
        let same = url.scheme == self.scheme
            && url.port == self.port
            && url.host.eq_ignore_ascii_case(&self.host)
            && self.scheme.is_web();
        same.then_some(url)
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// How the connection is made.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// A name or an address, without the brackets of IPv6. For a Unix socket, its path; for a named pipe, its name.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, or the scheme's default; 0 for a Unix socket or a named pipe.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Host and port as they are written: what a `Host` header says.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Path and query, as HTTP asks for them. What stands behind a # is never sent.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UrlError {}

impl From<UrlError> for io::Error {
    fn from(error: UrlError) -> Self {
        io::Error::new(io::ErrorKind::InvalidInput, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: Result<(Scheme, &str, u16, &str), &str>) {
        let got = Url::parse(text);
        let got = got.as_ref().map(|url| (url.scheme(), url.host(), url.port(), url.path()));
        assert_eq!(got.map_err(ToString::to_string), want.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn urls_are_what_they_say() {
        check("http://a.example", Ok((Scheme::Http, "a.example", 80, "/")));
        check("https://a.example/rpc?x=1#y", Ok((Scheme::Https, "a.example", 443, "/rpc?x=1")));
        check("http://a.example?x", Ok((Scheme::Http, "a.example", 80, "/?x")));
        check("HTTP://[::1]:8080/", Ok((Scheme::Http, "::1", 8080, "/")));
        check("ws://127.0.0.1:65535/a%20b", Ok((Scheme::Ws, "127.0.0.1", 65535, "/a%20b")));
        check("wss://a", Ok((Scheme::Wss, "a", 443, "/")));
        check("tcp://localhost:1", Ok((Scheme::Tcp, "localhost", 1, "/")));
        check("tls://[fe80::1]:1/", Ok((Scheme::Tls, "fe80::1", 1, "/")));
        check("unix:/run/x y.sock", Ok((Scheme::Unix, "/run/x y.sock", 0, "")));
        check("unix://relative", Ok((Scheme::Unix, "relative", 0, "")));
        check("pipe:sabir", Ok((Scheme::Pipe, "sabir", 0, "")));
        check(r"pipe:\\.\pipe\sabir", Ok((Scheme::Pipe, r"\\.\pipe\sabir", 0, "")));
    }

    #[test]
    fn urls_of_nats_name_servers_and_a_service() {
        check("nats://a/demo", Ok((Scheme::Nats, "a", 4222, "/demo")));
        check("NATS+TLS://a:1/demo", Ok((Scheme::NatsTls, "a", 1, "/demo")));
        check("nats://[::1]:1,b,c:3/x_-9", Ok((Scheme::Nats, "::1", 1, "/x_-9")));
        check("nats://[::1]", Ok((Scheme::Nats, "::1", 4222, "/")));
        let url = Url::parse("nats://me:secret@a:1,b/demo").expect("a URL");
        assert_eq!((url.as_str(), url.authority()), ("nats://a:1,b/demo", "a:1,b"));
        assert!(!format!("{url:?}").contains("secret"));
        for (text, why) in [
            ("nats:///demo", "`` is not a host and a port"),
            ("nats://a,/demo", "`` is not a host and a port"),
            ("nats://a:x/demo", "`a:x` is not a host and a port"),
            ("nats://a/b/c", "a service has letters, digits, - and _ in its name, and nothing follows it"),
            ("nats://a/b?c", "a service has letters, digits, - and _ in its name, and nothing follows it"),
            ("nats://a/b.c", "a service has letters, digits, - and _ in its name, and nothing follows it"),
        ] {
            check(text, Err(&format!("`{text}` is not a valid URL: {why}")));
        }
        let wrong = Url::parse("nats://me:secret@a b/x").expect_err("no URL").to_string();
        assert!(!wrong.contains("secret"), "{wrong}");
    }

    #[test]
    fn references_are_joined_within_an_origin() {
        let base = Url::parse("http://a.example/mcp/sse?x=1#y").expect("a URL");
        for (reference, want) in [
            ("/m?id=1", Some("http://a.example/m?id=1")),
            (" /m\n", Some("http://a.example/m")),
            ("m", Some("http://a.example/mcp/m")),
            ("?id=1", Some("http://a.example/mcp/sse?id=1")),
            ("../../m", Some("http://a.example/m")),
            ("http://a.example/m", Some("http://a.example/m")),
            ("HTTP://A.example:80/m", Some("HTTP://A.example:80/m")),
            ("//a.example/m", Some("http://a.example/m")),
            ("http://a.example:81/m", None),
            ("http://a.example.evil/m", None),
            ("http://me@a.example/m", None),
            ("https://a.example/m", None),
            ("ws://a.example/m", None),
            ("//elsewhere/m", None),
            ("/a b", None),
            ("/\r\nHost: b", None),
        ] {
            let got = base.join_same_origin(reference).map(|url| url.to_string());
            assert_eq!(got.as_deref(), want, "{reference:?}");
        }
        // A socket has no documents.
        assert_eq!(Url::parse("tcp://a:1").expect("a URL").join_same_origin("/"), None);
        assert_eq!(Url::parse("unix:/run/x").expect("a URL").join_same_origin("/"), None);
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for (text, why) in [
            ("http://127.0.0.1:85450/", "its port `85450` is not a number from 1 to 65535"),
            ("http://127.0.0.1:0/", "its port `0` is not a number from 1 to 65535"),
            ("http://127.0.0.1:/", "its port `` is not a number from 1 to 65535"),
            ("tcp://a:65536", "its port `65536` is not a number from 1 to 65535"),
            ("http://a:80:80/", "unexpected character at index 11"),
            ("http://a:x/", "unexpected character at index 9"),
            ("http://a b/", "unexpected character at index 8"),
            ("http://a/b c", "unexpected character at index 10"),
            ("http://a\\b/", "unexpected character at index 8"),
            ("http://a/\n", "unexpected character at index 9"),
            ("http://a/%zz", "invalid percent-encoded octet at index 9"),
            ("http://%61/", "its host has escapes with %"),
            ("http://[v1.x]/", "its host is not an address that is known"),
            (
                "http://é/",
                "it is not ASCII: write international names as xn--…, and other characters as %C3%A9",
            ),
            ("ftp://a/", EXPECTED),
            ("http:/a", EXPECTED),
            ("a:1", EXPECTED),
        ] {
            check(text, Err(&format!("`{text}` is not a valid URL: {why}")));
        }
        // Where the parser stops in it depends on its version.
        assert!(Url::parse("http://[::1/").is_err());
        check("http://", Err("`http://` names no host"));
        check("http:///path", Err("`http:///path` names no host"));
        check("http://:80", Err("`http://:80` names no host"));
        check("tcp://a", Err("`tcp://a` names no port: write it as tcp://a:PORT"));
        check("tcp://a:1/x", Err("`tcp://a:1/x` must name a host and a port, and nothing else"));
        check("tcp://a:1?x", Err("`tcp://a:1?x` must name a host and a port, and nothing else"));
        check("unix:", Err("`unix:` names no path"));
        check("pipe://", Err("`pipe://` names no pipe"));
        let secret = "a name and a password belong in an `Authorization` header, not in the URL";
        check("http://me:secret@a/", Err(secret));
        check("http://me:secret@a:99999/", Err(secret));
        check("http://me:secret@a b/", Err(secret));
        check("ftp://me:secret@a/", Err(secret));
        check("http://me@a/", Err(secret));
    }
}
