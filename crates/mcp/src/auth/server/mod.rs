//! A server that takes only requests with a valid token: an OAuth resource server.

mod claims;
mod identity;
mod introspection;
mod keys;
mod nonce;
mod proof;
mod scopes;
mod sent;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use claims::Expected;
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode};
pub use identity::Identity;
pub use introspection::Introspection;
use introspection::Introspector;
use keys::Keys;
use nonce::Nonces;
use proof::Proofs;
use sabir::transport::Url;
use sabir::{Denied, Http, RawJson};
use scopes::Scopes;
use sent::{Refused, USE_NONCE, bound_to, sent_token};
use serde_json::{Map, Value, json};

use super::client::{AuthError, PROTECTED_RESOURCE};
use super::jose::unique::Unique;
use super::jose::{Jws, JwsAlgorithm};
use super::{challenge, place};
use crate::server::{McpServer, TargetParams};

/// Which tokens a server takes, and what they must allow. [`start`](Self::start) checks the settings and fetches what is
/// needed to verify tokens.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use sabir_mcp::{McpServer, ResourceServer};
///
/// let auth = ResourceServer::new("https://mcp.example.com/mcp")
///     .issuer("https://login.example.com")
///     .tool_scopes("delete", ["files:write"])
///     .start()
///     .await?;
/// # let tool = sabir_mcp::Tool::new("delete", "Deletes a file");
/// let server = McpServer::new("files", "1.0.0").tool(tool, |_, ()| async { Ok("deleted") });
/// let http = auth.http(&server)?;
/// server.listen("http://127.0.0.1:8080/mcp").http(http).await?.run().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ResourceServer {
    resource: String,
    issuers: Vec<String>,
    introspection: Option<Introspection>,
    algorithms: Vec<JwsAlgorithm>,
    scopes: Scopes,
    leeway: Duration,
    dpop_required: bool,
    dpop_nonces: bool,
    unknown_names: bool,
    name: Option<String>,
    documentation: Option<String>,
    private_addresses: bool,
    root_certificates: Vec<Vec<u8>>,
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
}

impl ResourceServer {
    /// A server at this URL, as clients write it. Tokens must be issued for exactly this text.
    pub fn new(resource: impl Into<String>) -> Self {
        ResourceServer {
            resource: resource.into(),
            issuers: Vec::new(),
            introspection: None,
            algorithms: JwsAlgorithm::ALL.to_vec(),
            scopes: Scopes::default(),
            leeway: Duration::from_secs(60),
            dpop_required: false,
            dpop_nonces: false,
            unknown_names: false,
            name: None,
            documentation: None,
            private_addresses: false,
            root_certificates: Vec::new(),
            clock: Arc::new(SystemTime::now),
        }
    }

    /// Takes signed tokens of this authorization server, whose metadata say where its keys are. May be given several times;
    /// clients are sent to the first.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuers.push(issuer.into());
        self
    }

    /// Asks an authorization server about tokens that are not signed by any of the issuers.
    #[must_use]
    pub fn introspection(mut self, introspection: Introspection) -> Self {
        self.introspection = Some(introspection);
        self
    }

    /// Takes signatures of these algorithms only. Without it, of all in [`JwsAlgorithm`].
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = JwsAlgorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Every request needs these scopes.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.all.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Requests of this method need these scopes, too.
    #[must_use]
    pub fn method_scopes<S: Into<String>>(
        mut self,
        method: impl Into<String>,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.scopes.methods.entry(method.into()).or_default().extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Calls of this tool need these scopes, too.
    #[must_use]
    pub fn tool_scopes<S: Into<String>>(
        mut self,
        tool: impl Into<String>,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.scopes.tools.entry(tool.into()).or_default().extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Takes scopes for tools and methods that the server does not have: they are added later, by its
    /// [`Catalog`](crate::Catalog) or in an application of its own. Without it, they are refused as misspelt.
    #[must_use]
    pub fn allow_unknown_names(mut self) -> Self {
        self.unknown_names = true;
        self
    }

    /// Whoever has this scope has these, too.
    #[must_use]
    pub fn implies<S: Into<String>>(mut self, broad: &str, narrow: impl IntoIterator<Item = S>) -> Self {
        self.scopes.imply(broad, narrow.into_iter().map(Into::into));
        self
    }

    /// How far the clocks of an issuer and of this machine may differ. 60 s.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// Takes only tokens that are bound to a key, with a proof of it (DPoP). Without it, a proof is demanded for those
    /// tokens that are bound to one.
    #[must_use]
    pub fn require_dpop(mut self) -> Self {
        self.dpop_required = true;
        self
    }

    /// Wants a nonce of the server in each proof (RFC 9449, section 9), so that proofs cannot be made ahead of their time.
    /// Clients are told it by `DPoP-Nonce`; it changes every five minutes. Nothing is kept for it; each process has its own,
    /// so that behind a balancer that spreads requests clients are told more often.
    #[must_use]
    pub fn dpop_nonces(mut self) -> Self {
        self.dpop_nonces = true;
        self
    }

    /// A name for people, and a page to read more.
    #[must_use]
    pub fn described(mut self, name: impl Into<String>, documentation: Option<String>) -> Self {
        self.name = Some(name.into());
        self.documentation = documentation;
        self
    }

    /// Lets an issuer whose URL does not name a private address have its keys at one.
    #[must_use]
    pub fn allow_private_addresses(mut self) -> Self {
        self.private_addresses = true;
        self
    }

    /// Trusts issuers whose certificate is signed by one of these, in PEM, instead of the system's authorities.
    #[must_use]
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates.push(pem.into());
        self
    }

    /// What time it is, for tests.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Checks the settings, and fetches the metadata and keys of all issuers. What is wrong is found here, not by the first
    /// request.
    pub async fn start(self) -> Result<ProtectedServer, AuthError> {
        let url = place::secure(&self.resource, "the resource").map_err(AuthError::new)?;
        if self.resource.contains('#') || self.resource.ends_with('/') {
            return Err(AuthError::new(format!(
                "the resource `{url}` must have neither a # nor a / at its end"
            )));
        }
        if url.authority().parse::<http::uri::Authority>().is_err() {
            return Err(AuthError::new(format!("the resource `{url}` has a host that no client can send")));
        }
        if self.issuers.is_empty() && self.introspection.is_none() {
            return Err(AuthError::new("no issuer is given whose tokens are taken"));
        }
        if self.algorithms.is_empty() {
            return Err(AuthError::new("no algorithm is given that tokens may be signed with"));
        }
        if let Some(scope) = self.scopes.fault() {
            return Err(AuthError::new(format!("`{}` cannot be a scope of a server", scope.escape_debug())));
        }
        let now = seconds((self.clock)());
        let mut keys = Vec::new();
        for issuer in &self.issuers {
            keys.push(Arc::new(
                Keys::of(issuer, self.private_addresses, &self.root_certificates, now).await?,
            ));
        }
        let introspector = self.introspection.clone();
        let introspector =
            introspector.map(|settings| Introspector::new(settings, &self.root_certificates)).transpose()?;
        let metadata_url = place::well_known(&url, PROTECTED_RESOURCE);
        let nonces = self.dpop_nonces.then(Nonces::new).transpose().map_err(AuthError::new)?;
        let proofs = Proofs::default();
        let checks = Checks { settings: self, url, metadata_url, keys, introspector, proofs, nonces };
        Ok(ProtectedServer(Arc::new(checks)))
    }

    /// What clients read about the server (RFC 9728).
    fn metadata(&self) -> String {
        let introspection = self.introspection.as_ref().map(|introspection| &introspection.issuer);
        let mut issuers: Vec<&String> = self.issuers.iter().collect();
        issuers.extend(introspection.filter(|issuer| !self.issuers.contains(issuer)));
        let mut metadata = json!({
            "resource": self.resource,
            "authorization_servers": issuers,
            "bearer_methods_supported": ["header"],
        });
        let known = self.scopes.known();
        let mut add = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                metadata[name] = value;
            }
        };
        add("scopes_supported", (!known.is_empty()).then(|| json!(known)));
        add("resource_name", self.name.clone().map(Value::from));
        add("resource_documentation", self.documentation.clone().map(Value::from));
        if self.dpop_required {
            add("dpop_bound_access_tokens_required", Some(json!(true)));
        }
        let algorithms: Vec<&str> = self.algorithms.iter().map(|algorithm| algorithm.name()).collect();
        add("dpop_signing_alg_values_supported", Some(json!(algorithms)));
        metadata.to_string()
    }
}

/// A server's authorization, ready to be used: by [`http`](Self::http) in a server of `sabir`, or in an application of axum.
#[derive(Clone)]
pub struct ProtectedServer(Arc<Checks>);

struct Checks {
    settings: ResourceServer,
    url: Url,
    metadata_url: String,
    keys: Vec<Arc<Keys>>,
    introspector: Option<Introspector>,
    proofs: Proofs,
    nonces: Option<Nonces>,
}

impl ProtectedServer {
    /// The settings of Streamable HTTP with this authorization, in place of [`streamable_http`](crate::streamable_http).
    /// The metadata are served at both of their paths. Requests to the host of the resource are answered, as
    /// [`Http::public_host`] has it, since a proxy may pass that on.
    ///
    /// Fails if there are scopes for a tool or a method that the server does not have: its name is misspelt, and the one that was
    /// meant would be open. [`ResourceServer::allow_unknown_names`] is for those that come later.
    ///
    /// In an application that routes by itself, such as one of axum, mount the same service at
    /// [`metadata_paths`](Self::metadata_paths), too.
    pub fn http(&self, server: &McpServer) -> Result<Http, AuthError> {
        if !self.0.settings.unknown_names {
            self.0.settings.scopes.fit(server)?;
        }
        let checks = Arc::clone(&self.0);
        let permits = Arc::clone(&self.0);
        let mut http = crate::streamable_http()
            .auth_async(move |parts| {
                let checks = Arc::clone(&checks);
                // What is needed of the head, since the future may outlive it.
                let mut head = http::Request::new(()).into_parts().0;
                head.method.clone_from(&parts.method);
                head.uri.clone_from(&parts.uri);
                head.headers.clone_from(&parts.headers);
                async move {
                    let identity = checks.identify(&head).await;
                    let identity = identity.map_err(|refused| checks.denied(&refused, None))?;
                    checks.allows_any(&identity)?;
                    Ok(identity)
                }
            })
            .permit(move |_, identity: Option<&Identity>, method, params| {
                permits.permit(identity, method, params)
            })
            .until(|identity: &Identity| identity.ends)
            .public_host(&place::host(&self.0.url));
        let metadata = self.0.settings.metadata();
        for path in self.metadata_paths() {
            http = http.document(path, metadata.clone());
        }
        Ok(http)
    }

    /// The paths at which clients look for the metadata: with the path of the server behind it, and without.
    pub fn metadata_paths(&self) -> Vec<String> {
        let root = format!("/.well-known/{PROTECTED_RESOURCE}");
        let path = place::path(&self.0.url);
        let mut paths = vec![root.clone()];
        if !path.is_empty() {
            paths.push(format!("{root}{path}"));
        }
        paths
    }
}

impl Checks {
    fn now(&self) -> u64 {
        seconds((self.settings.clock)())
    }

    /// Who calls.
    async fn identify(&self, parts: &Parts) -> Result<Identity, Refused> {
        let sent = sent_token(parts)?;
        let now = self.now();
        let (issuer, claims) = self.claims(&sent.token, now).await?;
        let bound = bound_to(&claims)?;
        let leeway = self.settings.leeway.as_secs();
        let expected = Expected { resource: &self.settings.resource, issuer: &issuer, now, leeway };
        let mut identity = expected.identity(claims).map_err(Refused::invalid)?;
        let left = identity.expires_at.saturating_add(leeway).saturating_sub(now);
        identity.ends = Instant::now().checked_add(Duration::from_secs(left));
        match (bound, sent.is_proved) {
            (Some(bound), true) => {
                let algorithms = &self.settings.algorithms;
                let nonces = self.nonces.as_ref();
                let proof = proof::Expected {
                    resource: &self.url,
                    token: &sent.token,
                    bound: &bound,
                    algorithms,
                    nonces,
                };
                self.proofs.check(parts, &proof, now).map_err(Refused::unproved)?;
            }
            (Some(_), false) => {
                return Err(Refused::invalid("the token is bound to a key: send it with the scheme DPoP"));
            }
            (None, true) => {
                return Err(Refused::invalid(
                    "the token is not bound to a key: send it with the scheme Bearer",
                ));
            }
            (None, false) if self.settings.dpop_required => {
                return Err(Refused::invalid("only tokens that are bound to a key are taken (DPoP)"));
            }
            (None, false) => {}
        }
        Ok(identity)
    }

    /// What a token says, and who has vouched for that.
    async fn claims(&self, token: &str, now: u64) -> Result<(String, Map<String, Value>), Refused> {
        let jws = Jws::parse(token);
        let claims = jws.as_ref().and_then(Jws::claims).and_then(|Unique(claims)| match claims {
            Value::Object(claims) => Some(claims),
            _ => None,
        });
        if let (Some(jws), Some(claims)) = (&jws, claims) {
            let issuer = claims.get("iss").and_then(Value::as_str);
            if let Some(keys) = self.keys.iter().find(|keys| Some(keys.issuer.as_str()) == issuer) {
                self.verify(jws, keys, now).await?;
                return Ok((keys.issuer.clone(), claims));
            }
            if self.introspector.is_none() {
                return Err(Refused::invalid("the token is not of an issuer that is trusted here"));
            }
        }
        let Some(introspector) = &self.introspector else {
            return Err(Refused::invalid("the token is not a signed token"));
        };
        match introspector.ask(token, now).await {
            Ok(Some(claims)) => Ok((introspector.settings.issuer.clone(), claims)),
            Ok(None) => Err(Refused::invalid("the token is not active")),
            // Whose fault it is, is not for the caller to know.
            Err(_) => Err(Refused {
                status: StatusCode::SERVICE_UNAVAILABLE,
                error: None,
                reason: "the token cannot be checked at the moment".to_owned(),
            }),
        }
    }

    async fn verify(&self, jws: &Jws<'_>, keys: &Arc<Keys>, now: u64) -> Result<(), Refused> {
        let algorithm = jws.algorithm().filter(|algorithm| self.settings.algorithms.contains(algorithm));
        let algorithm = algorithm
            .ok_or_else(|| Refused::invalid("the token is signed with an algorithm that is not allowed"))?;
        let typ = jws.header.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
        if !["jwt", "at+jwt", "application/at+jwt"].contains(&typ.as_str()) {
            return Err(Refused::invalid("the token is not an access token"));
        }
        match keys.verify(jws, algorithm, now).await {
            true => Ok(()),
            false => Err(Refused::invalid("the token is not signed by a key of its issuer")),
        }
    }

    /// Whether the caller may make a call.
    fn permit(
        &self,
        identity: Option<&Identity>,
        method: &str,
        params: Option<&RawJson<'_>>,
    ) -> Result<(), Denied> {
        // A call that names no tool, or two, is refused by the one who would make it.
        let tool = TargetParams::by_name(params).ok().filter(|_| method == "tools/call");
        let scopes = &self.settings.scopes;
        let needed = scopes.needed(method, tool.as_ref().map(|tool| &*tool.name));
        if identity.is_some_and(|identity| scopes.allow(&identity.scopes, &needed)) {
            return Ok(());
        }
        Err(self.too_narrow(&needed))
    }

    /// Whether a token allows anything at all. Streams, the end of a session and answers are not calls, but need what every
    /// call needs.
    fn allows_any(&self, identity: &Identity) -> Result<(), Denied> {
        let scopes = &self.settings.scopes;
        match scopes.allow(&identity.scopes, &scopes.all) {
            true => Ok(()),
            false => Err(self.too_narrow(&scopes.all)),
        }
    }

    fn too_narrow(&self, needed: &BTreeSet<String>) -> Denied {
        let refused = Refused {
            status: StatusCode::FORBIDDEN,
            error: Some("insufficient_scope"),
            reason: "the token does not allow this".to_owned(),
        };
        self.denied(&refused, Some(&scopes::text(needed)))
    }

    /// The answer, with a challenge that says where tokens come from and what they need.
    fn denied(&self, refused: &Refused, scope: Option<&str>) -> Denied {
        let Refused { status, error, reason } = refused;
        let base = scopes::text(&self.settings.scopes.all);
        let scope = scope.unwrap_or(&base);
        let mut params = Vec::new();
        if let Some(error) = error {
            params.extend([("error", *error), ("error_description", reason.as_str())]);
        }
        if !scope.is_empty() {
            params.push(("scope", scope));
        }
        params.push(("resource_metadata", &self.metadata_url));
        let names: Vec<&str> = self.settings.algorithms.iter().map(|algorithm| algorithm.name()).collect();
        let names = names.join(" ");
        let by_proof =
            self.settings.dpop_required || matches!(*error, Some("invalid_dpop_proof" | USE_NONCE));
        let scheme = if by_proof { "DPoP" } else { "Bearer" };
        if by_proof {
            params.push(("algs", &names));
        }
        let body = json!({"error": error.unwrap_or("unauthorized"), "error_description": reason});
        if *status == StatusCode::SERVICE_UNAVAILABLE {
            // Another token would not help.
            return Denied::forbidden().status(*status).json(body.to_string());
        }
        let challenge = challenge::write(scheme, &params);
        let denied = Denied::unauthorized(&challenge).status(*status).json(body.to_string());
        let nonce = self.nonces.as_ref().filter(|_| *error == Some(USE_NONCE));
        match nonce.and_then(|nonces| HeaderValue::from_str(&nonces.current(self.now())).ok()) {
            Some(nonce) => denied.header(HeaderName::from_static("dpop-nonce"), nonce),
            None => denied,
        }
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl fmt::Debug for ResourceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceServer")
            .field("resource", &self.resource)
            .field("issuers", &self.issuers)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ProtectedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProtectedServer").field(&self.0.settings).finish()
    }
}
