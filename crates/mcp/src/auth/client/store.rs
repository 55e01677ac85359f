//! Where tokens and registrations are kept: in memory, in a file that only its owner can read, or wherever a program
//! likes.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::private_file;

/// Bytes of a file of credentials.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Tokens for one server, and where they come from.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tokens {
    /// The authorization server that issued them. They are never sent to another one.
    pub issuer: String,
    /// What they were issued for, as the server's metadata names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Sent with each request.
    pub access_token: String,
    /// Gets a new access token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// When the access token expires, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// What they allow, as far as it is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The private key that they are bound to by DPoP, as PKCS#8 in base64url.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_key: Option<String>,
}

/// This client, as an authorization server has registered it.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Registration {
    /// Its name at that server.
    pub client_id: String,
    /// What it proves its identity with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// How it does that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_method: Option<String>,
    /// Where the user's browser may be sent back to.
    #[serde(default)]
    pub redirect_uri: String,
}

/// Keeps tokens and registrations. Its functions may block for a moment, as a file does.
pub trait CredentialStore: Send + Sync + 'static {
    /// The tokens for a server, by its URL.
    fn tokens(&self, server: &str) -> io::Result<Option<Tokens>>;
    /// Keeps tokens for a server, or forgets them.
    fn set_tokens(&self, server: &str, tokens: Option<&Tokens>) -> io::Result<()>;
    /// The registration at an authorization server, by its issuer.
    fn registration(&self, issuer: &str) -> io::Result<Option<Registration>>;
    /// Keeps a registration, or forgets it.
    fn set_registration(&self, issuer: &str, registration: Option<&Registration>) -> io::Result<()>;
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Contents {
    #[serde(default)]
    tokens: BTreeMap<String, Tokens>,
    #[serde(default)]
    registrations: BTreeMap<String, Registration>,
}

fn put<T: Clone>(map: &mut BTreeMap<String, T>, key: &str, value: Option<&T>) {
    match value {
        Some(value) => drop(map.insert(key.to_owned(), value.clone())),
        None => drop(map.remove(key)),
    }
}

/// Keeps credentials as long as the program runs.
#[derive(Default)]
pub struct MemoryStore(Mutex<Contents>);

impl MemoryStore {
    fn contents<T>(&self, look: impl FnOnce(&mut Contents) -> T) -> io::Result<T> {
        Ok(look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl CredentialStore for MemoryStore {
    fn tokens(&self, server: &str) -> io::Result<Option<Tokens>> {
        self.contents(|contents| contents.tokens.get(server).cloned())
    }

    fn set_tokens(&self, server: &str, tokens: Option<&Tokens>) -> io::Result<()> {
        self.contents(|contents| put(&mut contents.tokens, server, tokens))
    }

    fn registration(&self, issuer: &str) -> io::Result<Option<Registration>> {
        self.contents(|contents| contents.registrations.get(issuer).cloned())
    }

    fn set_registration(&self, issuer: &str, registration: Option<&Registration>) -> io::Result<()> {
        self.contents(|contents| put(&mut contents.registrations, issuer, registration))
    }
}

/// Keeps credentials in a file of JSON that only its owner can read. Each change replaces the whole file, so that it is
/// never half written.
#[derive(Debug)]
pub struct FileStore {
    path: PathBuf,
    /// One change at a time, of this program.
    changing: Mutex<()>,
}

impl FileStore {
    /// A store in this file, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        FileStore { path: path.into(), changing: Mutex::default() }
    }

    /// The URLs of all servers that there are tokens for, and the tokens.
    pub fn list(&self) -> io::Result<Vec<(String, Tokens)>> {
        Ok(self.read()?.tokens.into_iter().collect())
    }

    fn read(&self) -> io::Result<Contents> {
        let length = match std::fs::metadata(&self.path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contents::default()),
            Err(error) => return Err(error),
        };
        if length > MOST_BYTES {
            return Err(io::Error::other("the file of credentials is too large"));
        }
        // What is wrong with it is not repeated: the words could be those of a secret.
        serde_json::from_slice(&std::fs::read(&self.path)?).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            io::Error::other(format!("the file of credentials is broken at line {line}, column {column}"))
        })
    }

    fn change(&self, change: impl FnOnce(&mut Contents)) -> io::Result<()> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut contents = self.read()?;
        change(&mut contents);
        replace(&self.path, &serde_json::to_vec_pretty(&contents)?)
    }
}

/// Writes a file beside the old one, for its owner alone, and puts it in its place.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private_file::create_folder(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", crate::auth::encoding::random_text()));
    let beside = path.with_file_name(name);
    let written = private_file::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

impl CredentialStore for FileStore {
    fn tokens(&self, server: &str) -> io::Result<Option<Tokens>> {
        Ok(self.read()?.tokens.remove(server))
    }

    fn set_tokens(&self, server: &str, tokens: Option<&Tokens>) -> io::Result<()> {
        self.change(|contents| put(&mut contents.tokens, server, tokens))
    }

    fn registration(&self, issuer: &str) -> io::Result<Option<Registration>> {
        Ok(self.read()?.registrations.remove(issuer))
    }

    fn set_registration(&self, issuer: &str, registration: Option<&Registration>) -> io::Result<()> {
        self.change(|contents| put(&mut contents.registrations, issuer, registration))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("issuer", &self.issuer)
            .field("resource", &self.resource)
            .field("expires_at", &self.expires_at)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    #[test]
    fn a_file_keeps_what_it_is_given_for_its_owner_alone() {
        let folder = std::env::temp_dir().join(format!("sabir-{}", crate::auth::encoding::random_text()));
        let path = folder.join("credentials.json");
        let tokens =
            Tokens { issuer: "https://as".into(), access_token: "secret".into(), ..Tokens::default() };
        let client = Registration { client_id: "me".into(), ..Registration::default() };
        let store = FileStore::new(&path);
        assert_eq!(store.tokens("https://a").unwrap(), None);
        store.set_tokens("https://a", Some(&tokens)).unwrap();
        store.set_registration("https://as", Some(&client)).unwrap();
        let again = FileStore::new(&path);
        assert_eq!(again.tokens("https://a").unwrap(), Some(tokens.clone()));
        assert_eq!(again.registration("https://as").unwrap(), Some(client));
        assert_eq!(again.list().unwrap(), [("https://a".to_owned(), tokens)]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        again.set_tokens("https://a", None).unwrap();
        assert_eq!(store.list().unwrap(), []);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::write(&path, r#"{"tokens": {"a": {"access_token": secret}}}"#).unwrap();
        assert!(!store.tokens("a").unwrap_err().to_string().contains("secret"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
