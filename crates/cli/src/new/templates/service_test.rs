//! The methods, called in memory.

use sabir::CallError;

#[tokio::test]
async fn methods_answer() {
    let router = project_name::router();
    let sum: i64 = router.call("add", (1, 2)).await.expect("a sum");
    assert_eq!(sum, 3);
}

#[tokio::test]
async fn an_impossible_division_is_an_error() {
    #[derive(serde::Serialize)]
    struct Divide {
        a: f64,
        b: f64,
    }
    let divided = project_name::router().call::<f64>("divide", Divide { a: 1.0, b: 0.0 }).await;
    assert!(matches!(divided, Err(CallError::Error(error)) if error.code.0 == 1));
}
