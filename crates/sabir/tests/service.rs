//! A service from a trait: what a caller gets by the typed client, and what is on the wire.

#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use sabir::{Ctx, ErrorObject, JsonKind, Peer, Progress, RawJson, Router, RpcError, ServiceError, transport};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A shop.
///
/// It sells what it has.
#[sabir::service(prefix = "shop.", rename_all = "camelCase")]
trait Shop {
    /// What a thing
    /// costs.
    ///
    /// In cents.
    async fn price_of(&self, item_name: String, #[rpc(default = 1)] how_many: u32) -> sabir::Result<u64>;

    /// Buys something.
    async fn buy(
        &self,
        /// What to buy.
        item_name: String,
        /// A name for the receipt.
        for_whom: Option<String>,
    ) -> Result<Receipt, ShopError>;

    /// Counts what is there, one by one.
    #[rpc(name = "stock/count")]
    async fn count(&self, progress: Progress<Counted>, up_to: u32) -> sabir::Result<u32>;

    /// Asks the caller for its name.
    async fn greet(&self, ctx: Ctx) -> sabir::Result<String>;

    /// Says that a customer is here.
    async fn enter(&self, #[rpc(name = "who", default)] name: String);

    /// Who was here.
    #[deprecated(note = "nobody needs to know")]
    async fn visitors(&self) -> sabir::Result<Vec<String>>;

    /// Has a body of its own.
    async fn closing_time(&self) -> sabir::Result<u8> {
        Ok(18)
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
struct Receipt {
    item: String,
    buyer: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
struct Counted {
    counted: u32,
}

#[derive(Debug, PartialEq, sabir::RpcError)]
enum ShopError {
    /// No such thing.
    #[rpc(code = 1)]
    NotThere,
    #[rpc(code = 2, message = "only {left} left of {item}")]
    SoldOut { item: String, left: u32 },
    #[rpc(code = -5, message = "come back at {0}")]
    Closed(u8),
}

#[derive(Default)]
struct Corner {
    visitors: Mutex<Vec<String>>,
}

impl Shop for Corner {
    async fn price_of(&self, item_name: String, how_many: u32) -> sabir::Result<u64> {
        match item_name.as_str() {
            "tea" => Ok(250 * u64::from(how_many)),
            _ => Err(ErrorObject::new(404, "no price")),
        }
    }

    async fn buy(&self, item_name: String, for_whom: Option<String>) -> Result<Receipt, ShopError> {
        match item_name.as_str() {
            "tea" => Ok(Receipt { item: item_name, buyer: for_whom }),
            "milk" => Err(ShopError::SoldOut { item: item_name, left: 0 }),
            "beer" => Err(ShopError::Closed(9)),
            _ => Err(ShopError::NotThere),
        }
    }

    async fn count(&self, progress: Progress<Counted>, up_to: u32) -> sabir::Result<u32> {
        for counted in 1..=up_to {
            progress.send(Counted { counted }).await;
        }
        Ok(up_to)
    }

    async fn greet(&self, ctx: Ctx) -> sabir::Result<String> {
        let name: String = ctx.peer().call("name", ()).await?;
        Ok(format!("hello, {name}"))
    }

    async fn enter(&self, name: String) {
        self.visitors.lock().unwrap().push(name);
    }

    async fn visitors(&self) -> sabir::Result<Vec<String>> {
        Ok(self.visitors.lock().unwrap().clone())
    }
}

async fn connected(router: Router) -> Peer {
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, router));
    let answers = Router::new().method("name", |_, ()| async { Ok("Ada") });
    sabir::connect(near, answers).await.unwrap()
}

#[tokio::test]
async fn the_typed_client_gets_typed_things() {
    let shop = ShopClient::new(connected(Corner::default().into_router()).await);

    assert_eq!(shop.price_of("tea".into(), 2).await, Ok(500));
    assert_eq!(shop.greet().await.unwrap(), "hello, Ada");
    assert_eq!(shop.closing_time().await.unwrap(), 18);
    let receipt = Receipt { item: "tea".into(), buyer: Some("Ada".into()) };
    assert_eq!(shop.buy("tea".into(), Some("Ada".into())).await, Ok(receipt));

    let mut call = shop.count(2);
    assert_eq!(call.next_progress().await, Some(Counted { counted: 1 }));
    assert_eq!(call.next_progress().await, Some(Counted { counted: 2 }));
    assert_eq!(call.next_progress().await, None);
    assert_eq!(call.await.unwrap(), 2);

    shop.enter("Eve".into()).await.unwrap();
    #[allow(deprecated)]
    let visitors = shop.visitors().await.unwrap();
    assert_eq!(visitors, ["Eve"]);
}

#[tokio::test]
async fn errors_keep_their_types() {
    let shop = ShopClient::new(connected(Corner::default().into_router()).await);
    for (item, want) in [
        ("coal", ShopError::NotThere),
        ("milk", ShopError::SoldOut { item: "milk".into(), left: 0 }),
        ("beer", ShopError::Closed(9)),
    ] {
        assert_eq!(shop.buy(item.into(), None).await, Err(ServiceError::Answered(want)));
    }
    let lost = shop.peer().clone();
    lost.shutdown(std::time::Duration::ZERO).await;
    let failure = shop.buy("tea".into(), None).await.unwrap_err();
    let ServiceError::Call(failure) = failure else { panic!("{failure}") };
    assert_eq!(failure.connection_end(), Some(&sabir::Cause::Shutdown));
}

/// Calls by hand: the text of the result, or the error.
async fn check(peer: &Peer, method: &'static str, params: &'static str, want: &str) {
    let params = (!params.is_empty()).then(|| RawJson::new(params).unwrap());
    let got = match peer.call_raw(method, params.clone()).await {
        Ok(result) => result.as_str().to_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(got, want, "{method} {params:?}");
}

#[tokio::test]
async fn params_are_taken_by_name_and_by_position() {
    let peer = connected(Corner::default().into_router()).await;
    check(&peer, "shop.priceOf", r#"{"itemName":"tea","howMany":3}"#, "750").await;
    check(&peer, "shop.priceOf", r#"["tea",3]"#, "750").await;
    check(&peer, "shop.priceOf", r#"["tea"]"#, "250").await;
    check(&peer, "shop.priceOf", r#"{"itemName":"coal"}"#, "404: no price").await;
    check(&peer, "shop.buy", r#"["tea"]"#, r#"{"item":"tea","buyer":null}"#).await;
    check(&peer, "shop.buy", r#"{"itemName":"beer"}"#, "-5: come back at 9 (9)").await;
    check(&peer, "shop.buy", r#"["milk"]"#, r#"2: only 0 left of milk ({"item":"milk","left":0})"#).await;
    check(&peer, "shop.stock/count", "[2]", "2").await;
    check(&peer, "shop.enter", r#"{"who":"Ann"}"#, "null").await;
    check(&peer, "shop.enter", "", "null").await;
    check(&peer, "shop.visitors", "", r#"["Ann",""]"#).await;
    check(&peer, "shop.priceOf", "", r#"-32602: Invalid params ({"reason":"missing field `itemName`"})"#)
        .await;
    check(&peer, "rpc.nonesuch", "", "-32601: Method not found").await;
}

#[tokio::test]
async fn params_are_checked_before_the_handler_on_request() {
    let peer = connected(Corner::default().into_router().validate()).await;
    let refused = |what: &str| format!("-32602: Invalid params ({what})");
    check(&peer, "shop.priceOf", r#"{"itemName":"tea","_meta":{}}"#, "250").await;
    check(&peer, "shop.priceOf", r#"["tea",2]"#, "500").await;
    check(&peer, "shop.closingTime", "", "18").await;
    let two = r#"{"reason":"/itemName: the value is not of type \"string\"","violations":[{"path":"/itemName","reason":"the value is not of type \"string\""},{"path":"/howMany","reason":"the value is less than the minimum of 0"}]}"#;
    check(&peer, "shop.priceOf", r#"{"itemName":7,"howMany":-1}"#, &refused(two)).await;
    let place = r#"{"reason":"/1: the value is not of type \"integer\"","violations":[{"path":"/1","reason":"the value is not of type \"integer\""}]}"#;
    check(&peer, "shop.priceOf", r#"["tea","two"]"#, &refused(place)).await;
    let missing = r#"{"reason":"\"itemName\" is a required property","violations":[{"path":"","reason":"\"itemName\" is a required property"}]}"#;
    check(&peer, "shop.priceOf", "", &refused(missing)).await;
}

#[tokio::test]
async fn discovery_tells_it_all() {
    let router = Corner::default().into_router();
    let document = router.openrpc();
    let peer = connected(router).await;
    let discovered: Value = peer.call("rpc.discover", ()).await.unwrap();
    assert_eq!(serde_json::to_value(&document).unwrap(), discovered);
    golden("service.openrpc.json", &serde_json::to_string_pretty(&document).unwrap());
}

/// Without the macro, the same types give the same description.
#[tokio::test]
async fn a_router_describes_itself() {
    #[derive(Deserialize, schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Pair {
        /// The first one.
        second_by_the_alphabet: i64,
        a: Option<i64>,
    }
    let router = Router::new()
        .method(sabir::describe("pair").doc("Takes two.").error(7, "too few"), |_, _: Pair| async { Ok(1) })
        .method_sync(sabir::describe("tuple").names(&["x"]), |_, (_, _): (i64, String)| Ok(()))
        .method(sabir::describe("list"), |_, list: Vec<u8>| async move { Ok(list.len()) })
        .method(sabir::describe("one").names(&["text"]), |_, text: String| async move { Ok(text) })
        .method(sabir::describe("maybe"), |_, _: Option<bool>| async { Ok(()) })
        .method(sabir::describe("note").notification(), |_, ()| async { Ok(()) })
        .method_raw("echo", |_, params| async { Ok(params.unwrap_or(RawJson::NULL)) })
        .describe(sabir::describe("echo").doc("Gives it back."))
        .method("plain", |_, ()| async { Ok(()) })
        .info(sabir::openrpc::Info::new("Everything", "1.2.3"));
    golden("router.openrpc.json", &serde_json::to_string_pretty(&router.openrpc()).unwrap());
    let peer = connected(router).await;
    let discovered: RawJson<'static> = peer.call("rpc.discover", ()).await.unwrap();
    assert_eq!(discovered.kind(), JsonKind::Object);
}

#[tokio::test]
async fn nothing_is_discovered_where_nothing_is_described() {
    let peer = connected(Router::new().method("plain", |_, ()| async { Ok(()) })).await;
    check(&peer, "rpc.discover", "", "-32601: Method not found").await;
}

fn golden(name: &str, came: &str) {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{came}\n")).unwrap();
    }
    assert_eq!(came, std::fs::read_to_string(&path).unwrap_or_default().trim_end(), "{name}");
}

/// Keeps values of any one type.
#[sabir::service]
trait Store<T>
where
    T: Clone + Send + Sync + Serialize + DeserializeOwned + schemars::JsonSchema + 'static,
{
    /// Keeps a value, and returns how many there are.
    async fn put(&self, value: T) -> sabir::Result<usize>;

    /// All of them.
    async fn all(&self) -> sabir::Result<Vec<T>>;

    /// One of them.
    async fn get(&self, place: usize, otherwise: Option<T>) -> sabir::Result<Option<T>>;

    /// How many there are, but no more than this.
    async fn len(&self, at_most: usize) -> sabir::Result<usize>;
}

struct Shelf<T>(Mutex<Vec<T>>);

impl<T> Store<T> for Shelf<T>
where
    T: Clone + Send + Sync + Serialize + DeserializeOwned + schemars::JsonSchema + 'static,
{
    async fn put(&self, value: T) -> sabir::Result<usize> {
        let mut all = self.0.lock().unwrap();
        all.push(value);
        Ok(all.len())
    }

    async fn all(&self) -> sabir::Result<Vec<T>> {
        Ok(self.0.lock().unwrap().clone())
    }

    async fn get(&self, place: usize, otherwise: Option<T>) -> sabir::Result<Option<T>> {
        Ok(self.0.lock().unwrap().get(place).cloned().or(otherwise))
    }

    async fn len(&self, at_most: usize) -> sabir::Result<usize> {
        Ok(self.0.lock().unwrap().len().min(at_most))
    }
}

#[tokio::test]
async fn a_service_may_have_type_parameters() {
    let store =
        StoreClient::<Counted>::new(connected(Shelf::<Counted>(Mutex::default()).into_router()).await);
    assert_eq!(store.put(Counted { counted: 5 }).await.unwrap(), 1);
    assert_eq!(store.clone().all().await.unwrap(), [Counted { counted: 5 }]);
    assert_eq!(store.get(0, None).await.unwrap(), Some(Counted { counted: 5 }));
    assert_eq!(store.get(7, None).await.unwrap(), None);
    assert_eq!(store.get(7, Some(Counted { counted: 1 })).await.unwrap(), Some(Counted { counted: 1 }));
    assert_eq!(store.len(9).await.unwrap(), 1);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
struct EFailed(u8);

/// Names that the derive could well use itself.
#[derive(Debug, PartialEq, sabir::RpcError)]
enum E {
    #[rpc(code = 1, message = "{error}, {data}, {generator}")]
    Failed { error: String, data: EFailed, generator: u8, known: u8, all: u8, f: u8 },
    #[rpc(code = 2)]
    Some(u8),
    #[rpc(code = 3)]
    None,
    #[rpc(other)]
    Other(ErrorObject),
}

impl std::fmt::Display for EFailed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[test]
fn an_error_may_have_any_names() {
    let failed = || E::Failed { error: "x".into(), data: EFailed(1), generator: 2, known: 3, all: 4, f: 5 };
    let object = ErrorObject::from(failed());
    assert_eq!(object.message, "x, 1, 2");
    for error in [failed(), E::Some(1), E::None, E::from("else".parse::<u8>().unwrap_err())] {
        assert_eq!(E::from_error(&error.to_error()), Option::Some(error));
    }
}

#[test]
#[should_panic(expected = "there is no method `nonesuch` to describe")]
fn what_is_not_there_cannot_be_described() {
    let _ = Router::new().describe(sabir::describe("nonesuch"));
}
