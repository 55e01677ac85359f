//! The key that seals the file of credentials, in the keyring of the user's desktop. The system's own program gets it:
//! `secret-tool` where there is a Secret Service, `security` on macOS. The key goes through pipes, never through arguments.
//!
//! Where there is no keyring, as on a server without a desktop, the file is not sealed. `SABIR_KEYRING=off` wants that, too.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// How long a program may take: it may ask the user to unlock the keyring.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);

/// The key, which is made the first time. `None` if there is no keyring.
pub(super) fn key() -> io::Result<Option<[u8; 32]>> {
    static KEY: OnceLock<Option<[u8; 32]>> = OnceLock::new();
    if let Some(key) = KEY.get() {
        return Ok(*key);
    }
    let key = match Keyring::find() {
        Some(keyring) => match keyring.look_up() {
            Some(key) => Some(key),
            None => keyring.make()?,
        },
        None => None,
    };
    Ok(*KEY.get_or_init(|| key))
}

#[derive(Clone, Copy)]
enum Keyring {
    SecretService,
    Keychain,
}

impl Keyring {
    fn find() -> Option<Self> {
        if std::env::var_os("SABIR_KEYRING").is_some_and(|wanted| wanted == "off") || cfg!(windows) {
            return None;
        }
        if cfg!(target_os = "macos") {
            return Path::new("/usr/bin/security").exists().then_some(Keyring::Keychain);
        }
        // Without a bus it would look for a screen, and start one.
        let has_bus = std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some_and(|bus| !bus.is_empty());
        has_bus.then_some(Keyring::SecretService)
    }

    fn look_up(self) -> Option<[u8; 32]> {
        let found = match self {
            Keyring::SecretService => run(
                Command::new("secret-tool").args(["lookup", "service", "sabir", "account", "credentials"]),
                "",
            ),
            Keyring::Keychain => run(
                Command::new("/usr/bin/security").args([
                    "find-generic-password",
                    "-s",
                    "sabir",
                    "-a",
                    "credentials",
                    "-w",
                ]),
                "",
            ),
        };
        BASE64_URL_SAFE_NO_PAD.decode(found?.trim()).ok()?.try_into().ok()
    }

    fn make(self) -> io::Result<Option<[u8; 32]>> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
        let text = BASE64_URL_SAFE_NO_PAD.encode(key);
        let kept = match self {
            Keyring::SecretService => {
                let label = "--label=The key to the logins of sabir";
                let mut command = Command::new("secret-tool");
                run(command.args(["store", label, "service", "sabir", "account", "credentials"]), &text)
            }
            Keyring::Keychain => {
                let asked = format!("add-generic-password -U -s sabir -a credentials -w {text}\n");
                run(Command::new("/usr/bin/security").arg("-i"), &asked)
            }
        };
        // What cannot be read back is not relied on.
        Ok(kept.and_then(|_| self.look_up()).filter(|found| *found == key))
    }
}

/// What a program prints, if all is well. It is ended if it takes too long.
fn run(command: &mut Command, input: &str) -> Option<String> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let _ = child.stdin.take()?.write_all(input.as_bytes());
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().ok()? {
            Some(status) => break status,
            None if Instant::now() < deadline => std::thread::sleep(PAUSE),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    };
    // A key is short: it does not fill the pipe.
    let mut text = String::new();
    child.stdout.take()?.take(4096).read_to_string(&mut text).ok()?;
    status.success().then_some(text)
}
