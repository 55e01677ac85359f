//! Credentials in a file that only its owner can read, shared by all programs of that owner, and sealed by a key if there is
//! one.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::private_file;
use super::seal::{Sealed, SealingKey};
use super::store::{Contents, CredentialStore, Registration, StoreLock, Tokens, put};
use crate::auth::encoding::{random_text, sha256};

/// Bytes of a file of credentials.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// How often, and after which pauses, a change waits for that of another program.
const TRIES: u32 = 1000;
const PAUSE: Duration = Duration::from_millis(5);

/// Gets the key of a sealed file: `None` if there is no place to keep one.
type KeySource = Box<dyn Fn() -> io::Result<Option<[u8; 32]>> + Send + Sync>;

/// Keeps credentials in a file of JSON that only its owner can read. Each change replaces the whole file, so that it is
/// never half written. Programs that share it do not lose each other's changes: empty files beside it are their locks.
pub struct FileStore {
    path: PathBuf,
    key: KeySource,
}

impl FileStore {
    /// A store in this file, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        FileStore { path: path.into(), key: Box::new(|| Ok(None)) }
    }

    /// Seals the file with a key of 256 bits that is kept elsewhere, such as in the keyring of the user's desktop. The
    /// function gets it, and makes it the first time; `None` if there is no such place, and the file is not sealed. It is
    /// called when the file is sealed already, or changes. A file that is not sealed yet is sealed by the next change.
    #[must_use]
    pub fn sealed(mut self, key: impl Fn() -> io::Result<Option<[u8; 32]>> + Send + Sync + 'static) -> Self {
        self.key = Box::new(key);
        self
    }

    /// The URLs of all servers that there are tokens for, and the tokens.
    pub fn list(&self) -> io::Result<Vec<(String, Tokens)>> {
        Ok(self.read()?.tokens.into_iter().collect())
    }

    /// Forgets the registrations at authorization servers that have issued none of the tokens in it.
    pub fn forget_unused_registrations(&self) -> io::Result<()> {
        fn unused(contents: &Contents, issuer: &str) -> bool {
            contents.tokens.values().all(|tokens| tokens.issuer != issuer)
        }
        let contents = self.read()?;
        if !contents.registrations.keys().any(|issuer| unused(&contents, issuer)) {
            return Ok(());
        }
        self.change(|contents| {
            let mut registrations = std::mem::take(&mut contents.registrations);
            registrations.retain(|issuer, _| !unused(contents, issuer));
            contents.registrations = registrations;
        })
    }

    /// Whether the file is sealed with a key. A file that is not there is not.
    pub fn is_sealed(&self) -> io::Result<bool> {
        Ok(self.bytes()?.is_some_and(|bytes| Sealed::parse(&bytes).is_some()))
    }

    fn bytes(&self) -> io::Result<Option<Vec<u8>>> {
        let file = match private_file::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.named(error)),
        };
        let about = file.metadata()?;
        if !about.is_file() || about.len() > MOST_BYTES {
            return Err(self.named("it is not a file of credentials, or too large for one"));
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn read(&self) -> io::Result<Contents> {
        let Some(mut bytes) = self.bytes()? else { return Ok(Contents::default()) };
        if let Some(sealed) = Sealed::parse(&bytes) {
            let key = (self.key)().map_err(|error| self.named(error))?;
            let key =
                key.ok_or_else(|| self.named("it is sealed, and the key that opens it is not to be had"))?;
            bytes = SealingKey::new(&key)
                .open(&sealed)
                .ok_or_else(|| self.named("it is sealed with another key: remove it, and log in again"))?;
        }
        // What is wrong with it is not repeated: the words could be those of a secret.
        serde_json::from_slice(&bytes).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let broken = format!("it is broken at line {line}, column {column}: remove it, and log in again");
            self.named(broken)
        })
    }

    fn change(&self, change: impl FnOnce(&mut Contents)) -> io::Result<()> {
        self.create_folder()?;
        let _one = self.lock()?;
        let mut contents = self.read()?;
        change(&mut contents);
        let mut bytes = serde_json::to_vec_pretty(&contents)?;
        if let Some(key) = (self.key)().map_err(|error| self.named(error))? {
            bytes = SealingKey::new(&key).seal(bytes)?;
        }
        // A link stays one: it is what it leads to that is replaced.
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        replace(&path, &bytes)
    }

    fn create_folder(&self) -> io::Result<()> {
        match self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) => private_file::create_folder(folder),
            None => Ok(()),
        }
    }

    /// One change at a time, of all programs.
    fn lock(&self) -> io::Result<File> {
        for _ in 0..TRIES {
            if let Some(held) = private_file::try_lock(&self.beside("lock"))? {
                return Ok(held);
            }
            std::thread::sleep(PAUSE);
        }
        Err(self.named("another program does not finish changing it"))
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{ending}"));
        self.path.with_file_name(name)
    }

    fn named(&self, reason: impl fmt::Display) -> io::Error {
        io::Error::other(format!("{}: {reason}", self.path.display()))
    }
}

/// Writes a file beside the old one, for its owner alone, and puts it in its place.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", random_text()));
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

    /// Servers do not wait for each other: each has a lock of its own.
    fn try_lock(&self, server: &str) -> io::Result<Option<StoreLock>> {
        self.create_folder()?;
        let held = private_file::try_lock(&self.beside(&format!("{}.lock", &sha256(server)[..12])))?;
        Ok(held.map(|held| Box::new(held) as StoreLock))
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            Folder(std::env::temp_dir().join(format!("sabir-{}", random_text())))
        }

        fn store(&self) -> FileStore {
            FileStore::new(self.0.join("credentials.json"))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn tokens(secret: &str) -> Tokens {
        Tokens { issuer: "https://as".into(), access_token: secret.into(), ..Tokens::default() }
    }

    #[test]
    fn a_file_keeps_what_it_is_given() {
        let folder = Folder::new();
        let client = Registration { client_id: "me".into(), ..Registration::default() };
        let store = folder.store();
        assert_eq!(store.tokens("https://a").unwrap(), None);
        store.set_tokens("https://a", Some(&tokens("secret"))).unwrap();
        store.set_registration("https://as", Some(&client)).unwrap();
        let again = folder.store();
        assert_eq!(again.tokens("https://a").unwrap(), Some(tokens("secret")));
        assert_eq!(again.registration("https://as").unwrap(), Some(client));
        assert_eq!(again.list().unwrap(), [("https://a".to_owned(), tokens("secret"))]);
        again.set_tokens("https://a", None).unwrap();
        assert_eq!(store.list().unwrap(), []);
        let mut files: Vec<_> =
            std::fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().file_name()).collect();
        files.sort();
        assert_eq!(files, ["credentials.json", "credentials.json.lock"]);
    }

    #[test]
    fn a_broken_file_is_named_and_not_repeated() {
        let folder = Folder::new();
        let store = folder.store();
        store.set_tokens("https://a", Some(&tokens("secret"))).unwrap();
        std::fs::write(&store.path, r#"{"tokens": {"a": {"access_token": secret}}}"#).unwrap();
        let error = store.tokens("a").unwrap_err().to_string();
        assert!(error.contains("credentials.json: it is broken at line 1, column 35"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn a_sealed_file_opens_with_its_key_alone() {
        let folder = Folder::new();
        folder.store().set_tokens("https://a", Some(&tokens("secret"))).unwrap();
        let with = |byte: u8| folder.store().sealed(move || Ok(Some([byte; 32])));
        // What was not sealed is read, and sealed from the next change on.
        assert_eq!(with(1).tokens("https://a").unwrap(), Some(tokens("secret")));
        assert!(!with(1).is_sealed().unwrap());
        with(1).set_tokens("https://b", Some(&tokens("other"))).unwrap();
        assert!(with(1).is_sealed().unwrap());
        assert_eq!(with(1).list().unwrap().len(), 2);
        let text = std::fs::read_to_string(folder.store().path).unwrap();
        assert!(!text.contains("secret") && !text.contains("https://"), "{text}");
        for (store, why) in [(with(2), "another key"), (folder.store(), "is not to be had")] {
            let error = store.tokens("https://a").unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert!(store.set_tokens("https://a", None).is_err());
        }
        assert_eq!(with(1).list().unwrap().len(), 2);
    }

    #[test]
    fn the_lock_of_a_server_is_had_once() {
        let folder = Folder::new();
        let held = folder.store().try_lock("https://a").unwrap();
        assert!(held.is_some());
        assert!(folder.store().try_lock("https://a").unwrap().is_none());
        assert!(folder.store().try_lock("https://b").unwrap().is_some());
        // Changes do not wait for it.
        folder.store().set_tokens("https://a", Some(&tokens("secret"))).unwrap();
        drop(held);
        assert!(folder.store().try_lock("https://a").unwrap().is_some());
    }

    #[test]
    fn many_who_change_it_lose_nothing() {
        let folder = Folder::new();
        std::thread::scope(|scope| {
            for number in 0..16 {
                let store = folder.store();
                scope.spawn(move || {
                    store.set_tokens(&format!("https://{number}"), Some(&tokens("x"))).unwrap()
                });
            }
        });
        assert_eq!(folder.store().list().unwrap().len(), 16);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_for_its_owner_alone() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = Folder::new();
        let store = folder.store();
        store.set_tokens("https://a", Some(&tokens("secret"))).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&store.path), 0o600);
        // Whoever opened it to others did not mean to.
        std::fs::set_permissions(&store.path, std::fs::Permissions::from_mode(0o644)).unwrap();
        store.list().unwrap();
        assert_eq!(mode(&store.path), 0o600);
        // A link to a file elsewhere stays one.
        let elsewhere = folder.0.join("elsewhere.json");
        std::fs::rename(&store.path, &elsewhere).unwrap();
        symlink(&elsewhere, &store.path).unwrap();
        store.set_tokens("https://b", Some(&tokens("secret"))).unwrap();
        assert!(std::fs::symlink_metadata(&store.path).unwrap().is_symlink());
        assert_eq!(store.list().unwrap().len(), 2);
        // A pipe is not read: nobody may ever write to it.
        std::fs::remove_file(&store.path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&store.path).status().unwrap().success());
        assert!(store.list().unwrap_err().to_string().contains("not a file of credentials"));
    }
}
