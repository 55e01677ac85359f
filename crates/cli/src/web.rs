//! Options for HTTP, WebSocket and TLS: headers and certificates.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use sabir::Nats;
use sabir::transport::{Step, Transport, Url};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::args::WebArgs;
use crate::exit::Failure;
use crate::files;
use crate::nats;
use crate::target::Target;
use crate::variables;

/// The options of a command, checked.
#[derive(Clone, Default)]
pub(crate) struct Web {
    headers: Vec<(String, String)>,
    /// A root certificate in PEM.
    root: Option<Vec<u8>>,
    insecure: bool,
    /// How to use NATS, if the target is behind it.
    nats: Option<Nats>,
    /// Shows the steps of connections.
    on_step: Option<Arc<OnStep>>,
}

type OnStep = dyn Fn(&Step<'_>) + Send + Sync;

/// Values of headers are secrets: they are never printed.
impl std::fmt::Debug for Web {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Web").field("insecure", &self.insecure).finish_non_exhaustive()
    }
}

impl Web {
    pub(crate) fn new(args: &WebArgs) -> Result<Web, Failure> {
        let WebArgs { headers, cacert, insecure } = args;
        let headers =
            headers.iter().map(|header| read(header, variables::environment)).collect::<Result<_, _>>()?;
        let root = match cacert {
            Some(path) => Some(files::read(path, files::LARGEST_DOCUMENT).map_err(|error| {
                Failure::file(format_args!("cannot read the certificate `{}`: {error}", path.display()))
            })?),
            None => None,
        };
        Ok(Web { headers, root, insecure: *insecure, nats: None, on_step: None })
    }

    /// With the headers of a saved target, except for those that were given on the command line too.
    #[must_use]
    pub(crate) fn with(mut self, headers: Vec<(String, String)>) -> Web {
        let more: Vec<_> = headers.into_iter().filter(|(name, _)| !self.has(name)).collect();
        self.headers.extend(more);
        self
    }

    /// With the steps of connections shown.
    #[must_use]
    pub(crate) fn on_step(mut self, told: impl Fn(&Step<'_>) + Send + Sync + 'static) -> Web {
        self.on_step = Some(Arc::new(told));
        self
    }

    /// A step was taken elsewhere than in a transport.
    pub(crate) fn tell(&self, step: &Step<'_>) {
        if let Some(told) = &self.on_step {
            told(step);
        }
    }

    /// For a target: how to sign in there, if it is behind NATS. Whatever a session agrees on, it agrees on with one
    /// worker.
    pub(crate) fn for_target(mut self, url: &Url) -> Result<Web, Failure> {
        if url.scheme().is_nats() {
            self.nats = Some(nats::settings(url)?.sticky(true));
        }
        Ok(self)
    }

    /// With calls that any worker may take, if the target is behind NATS.
    #[must_use]
    pub(crate) fn shared_by_workers(mut self) -> Web {
        self.nats = self.nats.map(|nats| nats.sticky(false));
        self
    }

    /// An option that the target cannot use is an error.
    pub(crate) fn check(&self, target: &Target) -> Result<(), Failure> {
        if !self.headers.is_empty() && !target.has_headers() {
            return Err(Failure::usage(format_args!("-H cannot be used with {target}"))
                .hint("headers are for http(s):// and ws(s)://"));
        }
        if (self.root.is_some() || self.insecure) && !target.has_certificates() {
            let option = if self.insecure { "--insecure" } else { "--cacert" };
            return Err(Failure::usage(format_args!("{option} cannot be used with {target}"))
                .hint("certificates are for https://, wss://, tls:// and nats+tls://"));
        }
        if self.insecure && self.nats.is_some() {
            return Err(Failure::usage(format_args!("--insecure cannot be used with {target}"))
                .hint("certificates of NATS are always verified; --cacert FILE trusts an authority"));
        }
        Ok(())
    }

    /// The root certificate that the user trusts, in PEM.
    pub(crate) fn root(&self) -> Option<&[u8]> {
        self.root.as_deref()
    }

    /// Whether a header of this name was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
    }

    /// Whether `--cacert` was given.
    pub(crate) fn has_root(&self) -> bool {
        self.root.is_some()
    }

    /// Whether `--insecure` was given.
    pub(crate) fn is_insecure(&self) -> bool {
        self.insecure
    }

    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (&**name, &**value))
    }

    pub(crate) fn apply(&self, transport: Transport) -> Transport {
        let transport = self.watched(self.trust(transport));
        self.headers().fold(transport, |transport, (name, value)| transport.header(name, value))
    }

    /// Shows the steps of the transport.
    pub(crate) fn watched(&self, transport: Transport) -> Transport {
        match self.on_step.clone() {
            Some(told) => transport.on_step(move |step| told(step)),
            None => transport,
        }
    }

    /// Sets which certificates are trusted and how to sign in to NATS, and nothing else.
    pub(crate) fn trust(&self, mut transport: Transport) -> Transport {
        if let Some(nats) = &self.nats {
            let nats = nats.clone();
            transport = transport.nats(match &self.root {
                Some(root) => nats.root_certificate(root.clone()),
                None => nats,
            });
        }
        if let Some(root) = &self.root {
            transport = transport.root_certificate(root.clone());
        }
        if self.insecure {
            transport = transport.danger_accept_any_certificate();
        }
        transport
    }
}

/// `NAME: VALUE`, with the variables in the value filled in.
fn read(
    header: &str,
    variable: impl Fn(&str) -> Result<Option<String>, Failure>,
) -> Result<(String, String), Failure> {
    let Some((name, value)) = header.split_once(':').filter(|(name, _)| !name.trim().is_empty()) else {
        // It may be a secret that its name is missing before: it is not repeated.
        return Err(Failure::usage("this is not a header: it has no name with a `:` behind it")
            .hint("write it as -H 'Name: value' or -H 'Authorization: Bearer ${TOKEN}'"));
    };
    let value =
        variables::fill(value.trim(), |name| Ok(variable(name)?.map(|value| value.trim().to_owned())))?;
    Ok((name.trim().to_owned(), value))
}

/// How long a target may take to be connected to, TLS included.
const DIALLING: Duration = Duration::from_secs(20);

/// A stream of bytes in both directions.
pub(crate) type Duplex = Pin<Box<dyn ReadWrite>>;

pub(crate) trait ReadWrite: AsyncRead + AsyncWrite + Send {}

impl<S: AsyncRead + AsyncWrite + Send> ReadWrite for S {}

/// Ends soon after a stream has, with the reason, if it is known.
pub(crate) type Ending = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// Connects to a target, for those who speak HTTP or something else over it themselves.
pub(crate) async fn dial(target: &Url, web: &Web) -> io::Result<(Duplex, Ending)> {
    let transport = match target.scheme() {
        scheme if scheme.is_web() => {
            let scheme = if scheme.is_secure() { "tls" } else { "tcp" };
            let host = match target.host() {
                host if host.contains(':') => format!("[{host}]"),
                host => host.to_owned(),
            };
            sabir::transport::url(format!("{scheme}://{host}:{}", target.port()))
        }
        // Its text would not do: credentials are left out of that.
        _ => Transport::from(target.clone()),
    };
    let streams = Transport::into_streams(web.trust(transport));
    let mut streams =
        tokio::time::timeout(DIALLING, streams).await.map_err(|_| io::ErrorKind::TimedOut)??;
    let read = std::mem::replace(&mut streams.read, Box::new(tokio::io::empty()));
    let write = std::mem::replace(&mut streams.write, Box::new(tokio::io::sink()));
    let ending = async move { streams.exit_reason().await };
    Ok((Box::pin(tokio::io::join(read, write)), Box::pin(ending)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_filled_in() {
        let variable = |name: &str| Ok((name == "A").then(|| " 1\n".to_owned()));
        for (header, want) in [
            ("Name: value", Ok(("Name", "value"))),
            ("a:b:c", Ok(("a", "b:c"))),
            ("a: <${A}${A}> $A", Ok(("a", "<11> $A"))),
            ("a:", Ok(("a", ""))),
            ("a: ${B}", Err("the variable `B` is not set")),
            ("a: ${B:-two}", Ok(("a", "two"))),
            ("a: ${A", Err("`${` is not closed")),
            ("Authorization Bearer x", Err("this is not a header: it has no name with a `:` behind it")),
            (": x", Err("this is not a header: it has no name with a `:` behind it")),
        ] {
            let got = read(header, variable).map_err(|failure| failure.what);
            let want = want.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(got, want.map_err(str::to_owned), "{header}");
        }
    }
}
