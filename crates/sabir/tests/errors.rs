//! Errors on their way: from a handler to its caller, and from a connection to `main`.

#![allow(clippy::unwrap_used)]

use std::error::Error as StdError;

use sabir::{CallError, ConnectErrorKind, Ctx, Error, ErrorObject, Peer, Router, ServiceError, transport};

async fn client(router: Router) -> Peer {
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, router));
    sabir::connect(near, Router::new()).await.unwrap()
}

fn parsed(text: &str) -> anyhow::Result<i64> {
    use anyhow::Context;
    text.parse().context("not a number")
}

fn boxed(text: &str) -> Result<i64, Box<dyn StdError + Send + Sync>> {
    Ok(text.parse()?)
}

fn plainly_boxed(text: &str) -> Result<i64, Box<dyn StdError>> {
    Ok(text.parse()?)
}

/// That this compiles is half of the test.
fn failing() -> Router {
    Router::new()
        .method("error", |_, text: String| async move { Ok(text.parse::<i64>()?) })
        .method("anyhow", |_, text: String| async move { Ok(parsed(&text)?) })
        .method("boxed", |_, text: String| async move { Ok(boxed(&text)?) })
        .method("plainly boxed", |_, text: String| async move {
            Ok(plainly_boxed(&text).map_err(|error| error.to_string())?)
        })
        .method("text", |_, text: String| async move { Ok(text.parse::<i64>().ok().ok_or("no number")?) })
        .method("bail", |_, _: String| async move {
            Err::<i64, _>(format!("{} is {}", "this", "formatted"))?;
            Ok(0i64)
        })
        .method_sync("sync", |_, text: String| Ok(parsed(&text)?))
        .method_blocking("blocking", |_, text: String| Ok(boxed(&text)?))
        .method("object", |_, _: String| async move {
            Err::<i64, _>(ErrorObject::new(7, "as it is").with_data([1]))?;
            Ok(0i64)
        })
        .method("asks", |ctx: Ctx, _: String| async move { Ok(ctx.peer().call::<i64>("none", ()).await?) })
}

const WANT: &[(&str, i64, &str, Option<&str>)] = &[
    ("error", -32603, "invalid digit found in string", Some("core::num::error::ParseIntError")),
    ("anyhow", -32603, "not a number", Some("anyhow::Error")),
    ("boxed", -32603, "invalid digit found in string", Some("")),
    ("plainly boxed", -32603, "invalid digit found in string", Some("alloc::string::String")),
    ("text", -32603, "no number", Some("&str")),
    ("bail", -32603, "this is formatted", Some("alloc::string::String")),
    ("sync", -32603, "not a number", Some("anyhow::Error")),
    ("blocking", -32603, "invalid digit found in string", Some("")),
    ("object", 7, "as it is", None),
    ("asks", -32601, "Method not found", None),
];

#[tokio::test]
async fn any_error_is_answered_with_its_text_alone() {
    let peer = client(failing()).await;
    for &(method, code, message, _) in WANT {
        let error = peer.call::<i64>(method, "x").await.unwrap_err();
        let CallError::Error(error) = error else { panic!("{method}: {error}") };
        assert_eq!((error.code.0, error.message.as_ref()), (code, message), "{method}");
        let data = error.data.as_ref().map(|data| data.as_str());
        assert_eq!(data, (method == "object").then_some("[1]"), "{method}");
    }
}

#[tokio::test]
async fn exceptions_are_shown_where_that_is_wanted() {
    #[derive(serde::Deserialize)]
    struct Data {
        exception: String,
    }
    let peer = client(failing().expose_exceptions()).await;
    for &(method, _, _, exception) in WANT {
        let error = peer.call::<i64>(method, "x").await.unwrap_err();
        let CallError::Error(error) = error else { panic!("{method}: {error}") };
        let shown = error.data.as_ref().and_then(|data| data.parse::<Data>().ok()).map(|data| data.exception);
        match exception {
            // How a box is spelt is the compiler's.
            Some("") => assert!(shown.is_some(), "{method}"),
            exception => assert_eq!(shown.as_deref(), exception, "{method}"),
        }
    }
}

#[tokio::test]
async fn layers_see_what_callers_do_not() {
    let router = failing().layer(|_: Ctx, next: sabir::Next| async move {
        next.run().await.map_err(|error| {
            let exception = error.exception().unwrap_or("none").to_owned();
            ErrorObject::new(error.code, exception)
        })
    });
    let error = client(router).await.call::<i64>("error", "x").await.unwrap_err();
    assert_eq!(error.to_string(), "-32603: core::num::error::ParseIntError");
}

fn is_an_error<E: StdError + Send + Sync + 'static>(error: E) -> Vec<String> {
    let error: &(dyn StdError + 'static) = &error;
    std::iter::successors(Some(error), |error| (**error).source()).map(ToString::to_string).collect()
}

#[tokio::test]
async fn connections_fail_with_a_sentence_and_its_source() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = sabir::connect(format!("tcp://{free}"), Router::new()).await.unwrap_err();
    assert!(matches!(&error, Error::Connect(error) if error.kind() == ConnectErrorKind::Refused));
    // What `main` prints is what a user reads.
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(error.to_string().starts_with(&format!("cannot connect to tcp://{free}: Connection refused")));
    let chain = is_an_error(error);
    assert!(chain.last().unwrap().starts_with("Connection refused"), "{chain:?}");

    let taken = sabir::listen("tcp://127.0.0.1:0", Router::new()).await.unwrap();
    let error = sabir::listen(taken.url(), Router::new()).await.unwrap_err();
    assert!(matches!(&error, Error::Bind { url, .. } if url == taken.url()), "{error}");
    assert!(
        error.to_string().starts_with(&format!("cannot listen at `{}`: Address", taken.url())),
        "{error}"
    );
    assert_eq!(is_an_error(error).len(), 2);

    let error = sabir::listen("nonsense", Router::new()).await.unwrap_err();
    assert!(matches!(error, Error::Config(_)), "{error}");

    let error = sabir::connect("nonsense", Router::new()).await.unwrap_err();
    let source = StdError::source(&error).and_then(StdError::source).unwrap();
    assert!(source.is::<transport::UrlError>(), "{error}");

    let error = transport::child(std::process::Command::new("nonesuch-program")).unwrap_err();
    assert!(error.to_string().starts_with("cannot start `nonesuch-program`: No such file"), "{error}");

    // There and back through `io::Result` it stays what it was.
    let back = Error::from(std::io::Error::from(error));
    assert!(matches!(back, Error::Start { .. }), "{back}");
}

#[tokio::test]
async fn everything_becomes_one_error() {
    async fn run(peer: Peer) -> Result<(), Error> {
        peer.notify("log", ()).await?;
        peer.call::<()>("none", ()).await?;
        Ok(())
    }
    let error = run(client(Router::new()).await).await.unwrap_err();
    assert!(matches!(&error, Error::Call(CallError::Error(error)) if error.code.0 == -32601), "{error}");
}

#[derive(Debug, Clone, PartialEq, sabir::RpcError)]
enum StoreError {
    #[rpc(code = 10, message = "no item {0}")]
    NoItem(u32),
}

#[derive(Debug, Clone, PartialEq, sabir::RpcError)]
enum ShopError {
    #[rpc(code = 1)]
    Closed,
    #[rpc(code = 2)]
    Left { count: u32 },
    #[rpc(transparent)]
    Store(StoreError),
    #[rpc(other)]
    Other(ErrorObject),
}

#[sabir::service]
trait Shop {
    async fn buy(&self, item: String) -> Result<u32, ShopError>;
}

struct Corner;

impl Shop for Corner {
    async fn buy(&self, item: String) -> Result<u32, ShopError> {
        match item.as_str() {
            "closed" => Err(ShopError::Closed),
            "store" => Err(ShopError::Store(StoreError::NoItem(3))),
            "odd" => Err(ShopError::Other(ErrorObject::new(2, "without its data"))),
            number => Ok(number.parse()?),
        }
    }
}

#[tokio::test]
async fn errors_of_a_service_are_never_lost() {
    let shop = ShopClient::new(client(Corner.into_router()).await);
    let bought = async |item: &str| match shop.buy(item.to_owned()).await {
        Err(ServiceError::Answered(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(bought("closed").await, ShopError::Closed);
    assert_eq!(bought("store").await, ShopError::Store(StoreError::NoItem(3)));
    let not_a_number = ErrorObject::new(-32603, "invalid digit found in string");
    assert_eq!(bought("x").await, ShopError::Other(not_a_number));
    // A code that is known with data that does not fit.
    assert_eq!(bought("odd").await, ShopError::Other(ErrorObject::new(2, "without its data")));
    assert_eq!(shop.buy("5".to_owned()).await, Ok(5));

    let codes = |document: sabir::openrpc::Document| -> Vec<i64> {
        document.methods[0].errors.iter().map(|error| error.code).collect()
    };
    assert_eq!(codes(Corner.into_router().openrpc()), [1, 2, 10]);

    let error = Error::from(shop.buy("store".to_owned()).await.unwrap_err());
    assert_eq!(error.to_string(), "10: no item 3 (3)");
}

/// Written for anything that is a shop.
async fn buy_twice(shop: &impl Shop, item: &str) -> Result<u32, ShopError> {
    Ok(shop.buy(item.to_owned()).await? + shop.buy(item.to_owned()).await?)
}

struct Mock;

impl Shop for Mock {
    async fn buy(&self, item: String) -> Result<u32, ShopError> {
        Ok(item.len() as u32)
    }
}

#[tokio::test]
async fn clients_services_and_mocks_are_all_the_same() {
    let shop = ShopClient::new(client(Corner.into_router()).await);
    assert_eq!(buy_twice(&shop, "5").await, Ok(10));
    assert_eq!(buy_twice(&Corner, "5").await, Ok(10));
    assert_eq!(buy_twice(&Mock, "milk").await, Ok(8));
    assert_eq!(buy_twice(&shop, "closed").await, Err(ShopError::Closed));
    assert_eq!(buy_twice(&shop, "store").await, Err(ShopError::Store(StoreError::NoItem(3))));
    shop.peer().shutdown(std::time::Duration::ZERO).await;
    assert!(matches!(buy_twice(&shop, "5").await, Err(ShopError::Other(_))));
}

#[tokio::test]
async fn a_service_is_shared_by_its_arc() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[derive(Default)]
    struct Till(AtomicU32);

    impl Shop for Till {
        async fn buy(&self, _: String) -> Result<u32, ShopError> {
            Ok(self.0.fetch_add(1, Ordering::SeqCst))
        }
    }
    let till = Arc::new(Till::default());
    let shop = ShopClient::new(client(Arc::clone(&till).into_router()).await);
    shop.buy("milk".to_owned()).await.unwrap();
    assert_eq!(till.buy("bread".to_owned()).await, Ok(1));
    assert_eq!(shop.buy("milk".to_owned()).await, Ok(2));
    // A client stands for the service elsewhere: this is a proxy.
    let proxied = ShopClient::new(client(shop.into_router()).await);
    assert_eq!(proxied.buy("tea".to_owned()).await, Ok(3));
    assert_eq!(till.0.load(Ordering::SeqCst), 4);
}
