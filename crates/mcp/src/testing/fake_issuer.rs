//! An authorization server on this machine that says yes to everybody.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::auth::encoding::{form, query_value, random_text, sha256};
use crate::auth::jose::Jws;
use crate::auth::{SigningKey, UserAgent, Visit};

/// Bytes of a request, and how long it may take: nobody but the test should call.
const MOST_BYTES: usize = 64 << 10;
const TIMEOUT: Duration = Duration::from_secs(10);
/// Nothing listens there: [`FakeIssuer::browser`] goes nowhere.
const REDIRECT: &str = "http://127.0.0.1:1/callback";
/// How long tokens are good for, in seconds.
const LIFE: u64 = 3600;

/// An authorization server that says yes to everybody, for tests of protected servers and of clients that log in. It serves on
/// this machine, until the runtime of the test ends.
///
/// It grants what [`OAuth`](crate::OAuth) can ask for: codes, refresh tokens, client credentials, and tokens for the word of an
/// identity provider (which it is, too) or of a workload's platform. A request with a proof of a key (DPoP) gets a token that
/// is bound to it. [`Introspection`](crate::Introspection) asks it at `/introspect`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use sabir_mcp::testing::FakeIssuer;
/// use sabir_mcp::{McpClient, McpServer, OAuth, ResourceServer, Tool};
///
/// let issuer = FakeIssuer::start().await?;
/// // Tokens are issued for the server's URL, so its port is chosen before it listens.
/// let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
/// let url = format!("http://127.0.0.1:{port}/mcp");
///
/// let auth = ResourceServer::new(&url).issuer(issuer.url()).tool_scopes("delete", ["files:write"]).start().await?;
/// let server = McpServer::new("files", "1.0.0").tool(Tool::new("delete", "Deletes a file"), |_, ()| async { Ok("deleted") });
/// let http = auth.http(&server)?;
/// tokio::spawn(server.listen(&url).http(http).await?.run());
///
/// // A client that logs in, and that is asked for a scope when it calls the tool.
/// let client = McpClient::new("test", "1.0.0").auth(OAuth::browser(issuer.browser()));
/// assert_eq!(client.connect(url.as_str()).await?.call("delete", ()).await?.text(), "deleted");
///
/// // One with a token of your choice.
/// let transport = sabir::transport::url(url.as_str()).bearer(issuer.token(&url, "files:read"));
/// let session = McpClient::new("test", "1.0.0").connect(transport).await?;
/// assert!(session.call("delete", ()).await.unwrap_err().to_string().contains("403"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FakeIssuer {
    url: String,
    key: SigningKey,
    grants: Grants,
}

/// What was asked for, by the code, the refresh token or the word of the identity provider that stands for it.
type Grants = Arc<Mutex<HashMap<String, Grant>>>;

#[derive(Clone)]
struct Grant {
    resource: String,
    scope: String,
    /// Of PKCE, for a code.
    challenge: Option<String>,
}

impl FakeIssuer {
    /// Starts it, with a key of its own.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let key = SigningKey::generate().and_then(|der| SigningKey::from_generated(&der));
        let issuer = FakeIssuer { url, key: key.map_err(io::Error::other)?, grants: Grants::default() };
        let serving = issuer.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let issuer = serving.clone();
                tokio::spawn(timeout(TIMEOUT, async move { issuer.serve(stream).await }));
            }
        });
        Ok(issuer)
    }

    /// Its URL, for [`ResourceServer::issuer`](crate::ResourceServer::issuer).
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A token for the server with this URL, with these scopes (`"files:read files:write"`), of a user called `user`. It is good for
    /// an hour.
    pub fn token(&self, resource: &str, scopes: &str) -> String {
        self.token_with(resource, scopes, &json!({}))
    }

    /// The same with other claims: `{"sub": "ada"}`, or one that has expired, by `{"exp": 1}`.
    pub fn token_with(&self, resource: &str, scopes: &str, claims: &Value) -> String {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut all = json!({
            "iss": self.url, "aud": resource, "sub": "user", "client_id": "test", "scope": scopes,
            "iat": now, "exp": now + LIFE, "jti": random_text(),
        });
        if let (Some(all), Some(claims)) = (all.as_object_mut(), claims.as_object()) {
            all.extend(claims.clone());
        }
        self.key.sign(&json!({"typ": "at+jwt"}), &all).expect("a key of its own signs")
    }

    /// A browser whose user agrees at once, for [`OAuth::browser`](crate::OAuth::browser).
    pub fn browser(&self) -> impl UserAgent + use<> {
        FakeBrowser(Arc::clone(&self.grants))
    }

    async fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let Some((head, body)) = request(&mut stream).await? else { return Ok(()) };
        let (status, answer) = match head.split(' ').take(2).collect::<Vec<_>>()[..] {
            ["GET", "/.well-known/oauth-authorization-server"] => (200, self.metadata()),
            ["GET", "/keys"] => (200, json!({"keys": [self.key.public()]})),
            ["POST", "/register"] => (201, json!({"client_id": "test", "redirect_uris": [REDIRECT]})),
            ["POST", "/token"] => self.grant(&head, &body),
            ["POST", "/introspect"] => (200, self.introspect(&body)),
            _ => (404, json!({})),
        };
        let answer = answer.to_string();
        let head = format!(
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            answer.len()
        );
        stream.write_all((head + &answer).as_bytes()).await?;
        stream.shutdown().await
    }

    fn metadata(&self) -> Value {
        let at = |path: &str| format!("{}/{path}", self.url);
        json!({
            "issuer": self.url,
            "authorization_endpoint": at("authorize"),
            "token_endpoint": at("token"),
            "registration_endpoint": at("register"),
            "jwks_uri": at("keys"),
            "code_challenge_methods_supported": ["S256"],
            "dpop_signing_alg_values_supported": ["ES256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        })
    }

    /// What the token endpoint says.
    fn grant(&self, head: &str, body: &str) -> (u16, Value) {
        let value = |name| query_value(body, name);
        let asked = || Grant {
            resource: value("resource").unwrap_or_default(),
            scope: value("scope").unwrap_or_default(),
            challenge: None,
        };
        let mut grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match value("grant_type").as_deref() {
            Some("authorization_code") => {
                let found = value("code").and_then(|code| grants.remove(&code));
                let verifier = value("code_verifier").map(|verifier| sha256(&verifier));
                found.filter(|grant| grant.challenge.is_some() && grant.challenge == verifier)
            }
            Some("refresh_token") => value("refresh_token").and_then(|token| grants.remove(&token)),
            Some("client_credentials") => Some(asked()),
            // The word of a workload's platform is anything; that of the identity provider says what it is for.
            Some("urn:ietf:params:oauth:grant-type:jwt-bearer") => {
                value("assertion").map(|word| grants.remove(&word).unwrap_or_else(asked))
            }
            Some("urn:ietf:params:oauth:grant-type:token-exchange") => {
                let word = random_text();
                grants.insert(word.clone(), asked());
                return (200, json!({"access_token": word, "token_type": "N_A"}));
            }
            _ => return (400, json!({"error": "unsupported_grant_type"})),
        };
        let Some(grant) = found else { return (400, json!({"error": "invalid_grant"})) };
        let (kind, bound) = match proved_key(head) {
            Some(thumbprint) => ("DPoP", json!({"cnf": {"jkt": thumbprint}})),
            None => ("Bearer", json!({})),
        };
        let refresh = random_text();
        let answer = json!({
            "access_token": self.token_with(&grant.resource, &grant.scope, &bound),
            "token_type": kind,
            "expires_in": LIFE,
            "scope": grant.scope,
            "refresh_token": refresh,
        });
        grants.insert(refresh, Grant { challenge: None, ..grant });
        (200, answer)
    }

    /// What it says about a token: all claims, if it is one of its own.
    fn introspect(&self, body: &str) -> Value {
        let token = query_value(body, "token").unwrap_or_default();
        let own = Jws::parse(&token).filter(|token| {
            let algorithm = token.algorithm();
            algorithm
                .zip(self.key.public())
                .is_some_and(|(algorithm, key)| token.is_signed_by(&key, algorithm))
        });
        let mut answer = own.and_then(|token| token.claims()).unwrap_or_else(|| json!({}));
        answer["active"] = json!(answer.get("iss").is_some());
        answer
    }
}

/// The name of the key that a request has a proof of.
fn proved_key(head: &str) -> Option<String> {
    let proof = Jws::parse(header(head, "dpop")?)?;
    let key = proof.header.jwk.as_ref()?;
    if !proof.is_signed_by(key, proof.algorithm()?) {
        return None;
    }
    key.thumbprint()
}

impl fmt::Debug for FakeIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeIssuer").field("url", &self.url).finish_non_exhaustive()
    }
}

struct FakeBrowser(Grants);

impl UserAgent for FakeBrowser {
    fn redirect_uri(&self) -> Visit<'_> {
        Box::pin(std::future::ready(Ok(REDIRECT.to_owned())))
    }

    fn visit<'a>(&'a self, url: &'a str) -> Visit<'a> {
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let value = |name| query_value(query, name).unwrap_or_default();
        let code = random_text();
        let grant = Grant {
            resource: value("resource"),
            scope: value("scope"),
            challenge: query_value(query, "code_challenge"),
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(code.clone(), grant);
        let returned = form(&[("code", code), ("state", value("state"))]);
        Box::pin(std::future::ready(Ok(format!("{REDIRECT}?{returned}"))))
    }
}

/// The head of a request, and its body.
async fn request(stream: &mut TcpStream) -> io::Result<Option<(String, String)>> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = header(head, "content-length").and_then(|length| length.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return Ok(Some((head.to_owned(), body.to_owned())));
            }
        }
        if bytes.len() > MOST_BYTES || stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut headers = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    headers.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}
