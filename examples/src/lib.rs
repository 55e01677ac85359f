//! The code of the documents: rustdoc compiles and runs the examples of each page as tests. A page may use all of
//! the crates, so they are tested here and not in one of them.
//!
//! The programs are in `src/bin`, and `tests` runs them.

macro_rules! pages {
    ($($page:ident = $path:literal),* $(,)?) => {$(
        #[cfg(doctest)]
        #[doc = include_str!(concat!("../../", $path))]
        struct $page;
    )*};
}

pages! {
    Readme = "README.md",
    Start = "docs/start.md",
    Server = "docs/server.md",
    Client = "docs/client.md",
    Services = "docs/services.md",
    Subscriptions = "docs/subscriptions.md",
    Http = "docs/http.md",
    Proxy = "docs/proxy.md",
    Mcp = "docs/mcp.md",
    Authorization = "docs/authorization.md",
    Tasks = "docs/tasks.md",
    Lsp = "docs/lsp.md",
    Testing = "docs/testing.md",
    Deploying = "docs/deploying.md",
    ScalingOut = "docs/scaling-out.md",
    Telemetry = "docs/telemetry.md",
    Design = "docs/design.md",
    Migrating = "docs/migrating.md",
}
