//! What `sabir auth` takes.

use clap::Subcommand;

use super::{CONNECTION, OUTPUT, WebArgs};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Tokens are kept in sabir/credentials.json in the folder of your settings, readable for you alone, and sealed with a key
in your keyring where there is one (a Secret Service with secret-tool, or the Keychain of macOS; SABIR_KEYRING=off does
without). They are sent to the server that they are for, and to no other; when they expire, they are renewed. Commands
that talk to a server use them by themselves, unless -H gives another Authorization.

Examples:
  sabir auth login https://example.com/mcp
  sabir auth login https://example.com/mcp --no-browser
  sabir auth list
  sabir auth logout https://example.com/mcp")]
pub(crate) struct AuthArgs {
    #[command(subcommand)]
    pub(crate) command: AuthCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Log in to a server with your browser
    Login(LoginArgs),
    /// List the servers that you are logged in to
    List {
        /// Print one JSON object per server: server, issuer, scopes, expires_at, renewable
        #[arg(long, help_heading = OUTPUT)]
        json: bool,
    },
    /// Revoke the tokens of a server at their issuer, and forget them
    Logout {
        /// The server's URL, as it was given to login
        server: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct LoginArgs {
    /// The server's URL
    pub(crate) server: String,
    /// The client that the authorization server knows, where it registers none by itself
    #[arg(long, value_name = "ID", requires = "issuer")]
    pub(crate) client_id: Option<String>,
    /// The authorization server that knows the client
    #[arg(long, value_name = "URL", requires = "client_id")]
    pub(crate) issuer: Option<String>,
    /// The environment variable that has the client's secret
    #[arg(long, value_name = "NAME", requires = "client_id")]
    pub(crate) client_secret_env: Option<String>,
    /// Ask for this scope, too; may be repeated
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// The port on this machine that the browser comes back to [default: any free port]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Print the URL to log in at, and start no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Let the server name an authorization server at a private address
    #[arg(long, help_heading = CONNECTION)]
    pub(crate) allow_private: bool,
    #[command(flatten)]
    pub(crate) web: WebArgs,
}
