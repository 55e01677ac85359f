//! Errors that cannot be told apart, or not be sent.

#[derive(sabir::RpcError)]
struct NotAnEnum;

#[derive(sabir::RpcError)]
enum NoCode {
    Lost,
}

#[derive(sabir::RpcError)]
enum SameCode {
    #[rpc(code = 1)]
    Lost,
    #[rpc(code = 1)]
    Found,
}

#[derive(sabir::RpcError)]
enum Nameless {
    #[rpc(code = 1)]
    Lost(String, String),
}

#[derive(sabir::RpcError)]
enum Unknown {
    #[rpc(number = 1)]
    Lost,
}

#[derive(sabir::RpcError)]
enum Generic<T> {
    #[rpc(code = 1)]
    Lost(T),
}

#[derive(sabir::RpcError)]
enum TwoOthers {
    #[rpc(other)]
    One(sabir::ErrorObject),
    #[rpc(other)]
    Two(sabir::ErrorObject),
}

#[derive(sabir::RpcError)]
enum Empty {
    #[rpc(other)]
    Other,
}

#[derive(sabir::RpcError)]
enum Coded {
    #[rpc(transparent, code = 1)]
    Inner(sabir::ErrorObject),
}

fn main() {}
