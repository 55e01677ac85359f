//! How the client of the conformance suite gets its tokens, by the scenario.

use sabir::Fetch;
use sabir::http::Request;
use sabir_mcp::{ClientCredentials, IdentityProvider, JwsAlgorithm, OAuth, SigningKey, UserAgent, Visit};
use serde::Deserialize;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Context {
    client_id: String,
    client_secret: Option<String>,
    issuer: Option<String>,
    private_key_pem: Option<String>,
    signing_algorithm: Option<String>,
    idp_client_id: String,
    idp_id_token: String,
    idp_token_endpoint: String,
    valid_jwt: String,
}

/// What a scenario asks for: mostly a user with a browser.
pub(crate) fn oauth(scenario: &str) -> Result<OAuth, Box<dyn std::error::Error>> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Context =
        if context.is_empty() { Context::default() } else { serde_json::from_str(&context)? };
    let secret = context.client_secret.clone().unwrap_or_default();
    let client = ClientCredentials::secret(&context.client_id, secret);
    Ok(match scenario {
        "auth/client-credentials-jwt" => {
            let algorithm = context.signing_algorithm.as_deref().and_then(JwsAlgorithm::parse);
            let pem = context.private_key_pem.ok_or("no key")?;
            let key = SigningKey::from_pem(&pem, algorithm.ok_or("no algorithm")?)?;
            OAuth::client_credentials(ClientCredentials::key(&context.client_id, key))
        }
        // These do not say who knows the client: whoever the server names is trusted.
        "auth/client-credentials-basic" => OAuth::client_credentials(client.any_issuer()),
        "auth/enterprise-managed-authorization" => {
            let id_token = context.idp_id_token;
            let user = move || std::future::ready(Ok(id_token.clone()));
            let own = ClientCredentials::public(context.idp_client_id);
            OAuth::enterprise(
                IdentityProvider::new(context.idp_token_endpoint, own, user),
                client.any_issuer(),
            )
        }
        "auth/wif-jwt-bearer" => {
            let token = context.valid_jwt;
            let workload = move || std::future::ready(Ok(token.clone()));
            OAuth::workload(ClientCredentials::public(context.client_id), workload)
        }
        "auth/pre-registration" => {
            OAuth::browser(Redirects).client(client.issuer(context.issuer.ok_or("no issuer")?))
        }
        "auth/dpop" | "auth/dpop-nonce" => OAuth::browser(Redirects).dpop(),
        _ => OAuth::browser(Redirects)
            .client_name("sabir")
            .metadata_document("https://conformance-test.local/client-metadata.json"),
    })
}

/// A browser whose user always agrees: it looks where it is sent, and does not go there.
struct Redirects;

impl UserAgent for Redirects {
    fn redirect_uri(&self) -> Visit<'_> {
        Box::pin(async { Ok("http://localhost:3000/callback".to_owned()) })
    }

    fn visit<'a>(&'a self, url: &'a str) -> Visit<'a> {
        Box::pin(async move {
            let request = Request::get(url).body("").map_err(|error| error.to_string())?;
            let response = Fetch::default().send(request).await.map_err(|error| error.to_string())?;
            let location = response.headers().get("location").and_then(|location| location.to_str().ok());
            location.map(str::to_owned).ok_or_else(|| format!("HTTP {} is not a redirect", response.status()))
        })
    }
}
