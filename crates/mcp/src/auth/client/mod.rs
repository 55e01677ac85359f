//! A client that gets itself tokens when a server asks for them: what a user configures.

mod credentials;
mod dpop;
mod file_store;
mod grant;
mod login;
mod metadata;
mod private_file;
mod registration;
mod revocation;
mod seal;
mod session;
mod step_up;
mod store;
mod token;
mod user_agent;

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

pub use credentials::ClientCredentials;
pub use file_store::FileStore;
#[cfg(feature = "fuzzing")]
pub(crate) use metadata::urls_of_metadata;
pub(crate) use metadata::{AuthorizationServer, PROTECTED_RESOURCE, authorization_server};
pub use revocation::LoggedOut;
pub use session::OAuthSession;
pub use store::{CredentialStore, MemoryStore, Registration, StoreLock, Tokens};
pub use user_agent::{LoopbackBrowser, UserAgent, Visit};

/// Gets a token of somebody else, such as that of a workload, each time that it is needed.
type TokenSource =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<String, String>> + Send>> + Send + Sync>;

/// How a client gets tokens for servers that want them. [`McpClient::auth`](crate::McpClient::auth) takes it.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use sabir_mcp::{LoopbackBrowser, McpClient, OAuth};
///
/// let browser = LoopbackBrowser::new(|url| eprintln!("log in at {url}"));
/// let server = McpClient::new("me", "1.0.0")
///     .auth(OAuth::browser(browser))
///     .connect("https://example.com/mcp")
///     .await?;
/// # Ok(())
/// # }
/// ```
///
/// Nothing is asked for before a server answers with 401. Then the server's metadata say where tokens come from, and the
/// client registers itself there unless it is known. Tokens are refreshed when they expire, and a 403 that names scopes is
/// answered by a login for them.
///
/// # Which addresses are reached
///
/// A server that is not trusted names the URLs of metadata and tokens. They must be `https://`, or `http://` on this
/// machine; no redirect is followed; and they must not lead to a private address (this machine, a private or link-local
/// network), unless the MCP server's own URL names one, as `localhost` or by the address itself, or
/// [`allow_private_addresses`](Self::allow_private_addresses) allows it.
#[derive(Clone)]
pub struct OAuth {
    pub(crate) grant: Grant,
    pub(crate) name: String,
    pub(crate) clients: Vec<ClientCredentials>,
    pub(crate) metadata_document: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) store: Arc<dyn CredentialStore>,
    pub(crate) dpop: bool,
    pub(crate) private_addresses: bool,
    pub(crate) root_certificates: Vec<Vec<u8>>,
    pub(crate) clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
}

#[derive(Clone)]
pub(crate) enum Grant {
    Code(Arc<dyn UserAgent>),
    Client,
    Enterprise(Arc<IdentityProvider>),
    Workload(TokenSource),
}

/// The identity provider of a company, which vouches for its users.
#[derive(Clone)]
pub struct IdentityProvider {
    pub(crate) token_endpoint: String,
    pub(crate) client: ClientCredentials,
    pub(crate) id_token: TokenSource,
}

impl IdentityProvider {
    /// A provider with this token endpoint, which knows this client. The function returns the ID token of the user who has
    /// logged in there.
    pub fn new<F, Fut>(token_endpoint: impl Into<String>, client: ClientCredentials, id_token: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        let id_token: TokenSource = Arc::new(move || Box::pin(id_token()));
        IdentityProvider { token_endpoint: token_endpoint.into(), client, id_token }
    }
}

impl OAuth {
    fn new(grant: Grant) -> Self {
        OAuth {
            grant,
            name: "sabir".to_owned(),
            clients: Vec::new(),
            metadata_document: None,
            scopes: Vec::new(),
            store: Arc::new(MemoryStore::default()),
            dpop: false,
            private_addresses: false,
            root_certificates: Vec::new(),
            clock: Arc::new(SystemTime::now),
        }
    }

    /// Lets a user log in with a browser: the authorization code grant, with PKCE.
    pub fn browser(browser: impl UserAgent) -> Self {
        OAuth::new(Grant::Code(Arc::new(browser)))
    }

    /// A client that acts for itself: the client credentials grant.
    pub fn client_credentials(client: ClientCredentials) -> Self {
        OAuth::new(Grant::Client).client(client)
    }

    /// A user of a company whose identity provider decides: enterprise-managed authorization. The client is the one that
    /// the MCP server's authorization server knows.
    pub fn enterprise(provider: IdentityProvider, client: ClientCredentials) -> Self {
        OAuth::new(Grant::Enterprise(Arc::new(provider))).client(client)
    }

    /// A workload that has a token of its platform: workload identity federation. The function returns that token.
    pub fn workload<F, Fut>(client: ClientCredentials, token: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        OAuth::new(Grant::Workload(Arc::new(move || Box::pin(token())))).client(client)
    }

    /// A client that an authorization server knows already. May be given for several.
    #[must_use]
    pub fn client(mut self, client: ClientCredentials) -> Self {
        self.clients.push(client);
        self
    }

    /// Names this client by the URL of a document about it (a Client ID Metadata Document), where that is understood.
    ///
    /// # Panics
    /// If it is not an `https://` URL with a path.
    #[must_use]
    pub fn metadata_document(mut self, url: impl Into<String>) -> Self {
        let url = url.into();
        let fits = sabir::transport::Url::parse(&url)
            .is_ok_and(|url| url.scheme() == sabir::transport::Scheme::Https && url.path() != "/");
        assert!(fits, "`{url}` cannot name a client: write it as `https://example.com/client.json`");
        self.metadata_document = Some(url);
        self
    }

    /// The name under which the client registers itself: users see it when they log in.
    #[must_use]
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Asks for these scopes, too, whatever the server asks for.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Keeps tokens and registrations there. Without it, they are kept in memory.
    #[must_use]
    pub fn store(mut self, store: impl CredentialStore) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// Binds all tokens to a key (DPoP), so that nobody else can use them. Without it, that is done for servers whose
    /// metadata demand it.
    #[must_use]
    pub fn dpop(mut self) -> Self {
        self.dpop = true;
        self
    }

    /// Lets servers name metadata and authorization servers at private addresses.
    #[must_use]
    pub fn allow_private_addresses(mut self) -> Self {
        self.private_addresses = true;
        self
    }

    /// Trusts authorization servers whose certificate is signed by one of these, in PEM, instead of the system's
    /// authorities.
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

    /// The extensions of MCP that this makes use of.
    pub(crate) fn extensions(&self) -> impl Iterator<Item = &'static str> + use<> {
        let grant = match self.grant {
            Grant::Code(_) => None,
            Grant::Client => Some("io.modelcontextprotocol/oauth-client-credentials"),
            Grant::Enterprise(_) => Some("io.modelcontextprotocol/enterprise-managed-authorization"),
            Grant::Workload(_) => Some("io.modelcontextprotocol/auth/wif"),
        };
        grant.into_iter().chain(self.dpop.then_some("io.modelcontextprotocol/auth/dpop"))
    }

    pub(crate) fn now(&self) -> u64 {
        (self.clock)().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grant = match self.grant {
            Grant::Code(_) => "authorization code",
            Grant::Client => "client credentials",
            Grant::Enterprise(_) => "enterprise-managed",
            Grant::Workload(_) => "workload identity",
        };
        f.debug_struct("OAuth").field("grant", &grant).field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for IdentityProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityProvider")
            .field("token_endpoint", &self.token_endpoint)
            .finish_non_exhaustive()
    }
}

/// Why there is no token. It never repeats a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthError {
    reason: String,
    code: Option<String>,
}

impl AuthError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        AuthError { reason: reason.into(), code: None }
    }

    pub(crate) fn coded(reason: String, code: Option<String>) -> Self {
        AuthError { reason, code }
    }

    #[expect(clippy::needless_pass_by_value, reason = "it is made for `map_err`")]
    pub(crate) fn store(error: io::Error) -> Self {
        AuthError::new(format!("the credentials cannot be read or kept: {error}"))
    }

    /// The error code of OAuth, such as `invalid_grant`, if the authorization server gave one.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }
}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// The same as [`Display`](fmt::Display): it is what a `main` that returns the error prints.
impl fmt::Debug for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for AuthError {}
