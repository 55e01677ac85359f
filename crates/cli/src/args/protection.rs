//! Which tokens a protected demo takes.

use sabir_mcp::JwsAlgorithm;

use super::CONNECTION;

#[derive(Debug, clap::Args)]
pub(crate) struct ProtectionArgs {
    /// Require tokens that this authorization server signs, for MCP over HTTP; may be repeated
    #[arg(long, value_name = "URL", requires = "listen", requires = "mcp", conflicts_with = "bearer", help_heading = CONNECTION)]
    pub(crate) issuer: Vec<String>,
    /// What those tokens must be for [default: the URL of --listen]
    #[arg(long, value_name = "URL", requires = "issuer", help_heading = CONNECTION)]
    pub(crate) resource: Option<String>,
    /// Require a scope for a tool, as TOOL=SCOPE, or as SCOPE for everything; may be repeated
    #[arg(long, value_name = "SCOPE", requires = "issuer", help_heading = CONNECTION)]
    pub(crate) scope: Vec<String>,
    /// Take only signatures of this algorithm, such as ES256; may be repeated [default: all but symmetric ones]
    #[arg(long, value_name = "NAME", requires = "issuer", value_parser = algorithm, help_heading = CONNECTION)]
    pub(crate) algorithm: Vec<JwsAlgorithm>,
    /// Ask the issuer about each token at this endpoint, instead of checking signatures by its keys
    #[arg(long, value_name = "URL", requires = "issuer", requires = "client_id", conflicts_with = "algorithm", help_heading = CONNECTION)]
    pub(crate) introspection: Option<String>,
    /// The client as which it asks
    #[arg(long, value_name = "ID", requires = "introspection", help_heading = CONNECTION)]
    pub(crate) client_id: Option<String>,
    /// The environment variable that has the client's secret
    #[arg(long, value_name = "NAME", requires = "client_id", help_heading = CONNECTION)]
    pub(crate) client_secret_env: Option<String>,
    /// Take only tokens that are bound to a key, each request with a proof of it (DPoP)
    #[arg(long, requires = "issuer", help_heading = CONNECTION)]
    pub(crate) require_dpop: bool,
    /// Want a nonce of the server in each proof
    #[arg(long, requires = "issuer", help_heading = CONNECTION)]
    pub(crate) dpop_nonces: bool,
    /// Let an issuer have its keys at a private address, though its own URL does not name one
    #[arg(long, requires = "issuer", help_heading = CONNECTION)]
    pub(crate) allow_private: bool,
}

fn algorithm(name: &str) -> Result<JwsAlgorithm, String> {
    JwsAlgorithm::parse(name).ok_or_else(|| {
        let names = JwsAlgorithm::ALL.map(JwsAlgorithm::name).join(", ");
        format!("tokens can be signed with {names}")
    })
}
