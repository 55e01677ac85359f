// A client for Sabir demo. Made by `sabir generate --lang rust`; needs the crates sabir, serde and serde_json.
//
// let client = SabirDemo::new(sabir::connect(transport, sabir::Router::new()).await?);

/// Calls the methods of Sabir demo at a peer.
#[derive(Debug, Clone)]
pub struct SabirDemo {
    peer: sabir::Peer,
}

#[allow(clippy::all)]
impl SabirDemo {
    /// A client of this peer.
    pub fn new(peer: sabir::Peer) -> Self {
        SabirDemo { peer }
    }

    /// Adds two numbers.
    ///
    /// Integers of up to 128 bits are added exactly.
    pub fn add(&self, a: f64, b: f64) -> sabir::Call<f64> {
        self.peer.call("add", (a, b))
    }

    /// Calls a method of the caller, and returns what came of it.
    pub fn ask(
        &self,
        method: String,
        params: Option<serde_json::Value>,
    ) -> sabir::Call<serde_json::Value> {
        self.peer.call("ask", positions(1, (method, params)))
    }

    /// Returns its params as they came, or null if there are none.
    pub fn echo(&self, params: impl serde::Serialize) -> sabir::Call<serde_json::Value> {
        self.peer.call("echo", params)
    }

    /// Fails with the error that it is given.
    ///
    /// Without a code the handler fails by itself.
    pub fn fail(
        &self,
        code: Option<i64>,
        message: Option<String>,
        data: Option<serde_json::Value>,
    ) -> sabir::Call<()> {
        self.peer.call("fail", positions(0, (code, message, data)))
    }

    /// Returns a string and a number.
    pub fn get_data(&self) -> sabir::Call<(String, i64)> {
        self.peer.call("get_data", ())
    }

    /// Accepts the notification and does nothing.
    pub async fn log(&self, params: impl serde::Serialize) -> Result<(), sabir::SendError> {
        self.peer.notify("log", params).await
    }

    /// Returns what `update` was given, the oldest first.
    pub fn notes(&self) -> sabir::Call<Vec<serde_json::Value>> {
        self.peer.call("notes", ())
    }

    /// Accepts the notification and does nothing.
    pub async fn notify_hello(
        &self,
        params: impl serde::Serialize,
    ) -> Result<(), sabir::SendError> {
        self.peer.notify("notify_hello", params).await
    }

    /// Accepts the notification and does nothing.
    pub async fn notify_sum(&self, params: impl serde::Serialize) -> Result<(), sabir::SendError> {
        self.peer.notify("notify_sum", params).await
    }

    /// Panics. The server keeps running.
    pub fn panic(&self) -> sabir::Call<()> {
        self.peer.call("panic", ())
    }

    /// Tells its progress, and returns the number of steps.
    ///
    /// With a token in `_meta.progressToken` it tells `notifications/progress`, without one `progress`.
    pub fn progress(&self, steps: u64, ms: Option<u64>) -> sabir::Call<u64> {
        self.peer.call("progress", positions(1, (steps, ms)))
    }

    /// Waits, and returns for how long.
    ///
    /// It can be cancelled.
    pub fn sleep(&self, ms: u64) -> sabir::Call<u64> {
        self.peer.call("sleep", (ms,))
    }

    /// Counts in notifications `ticks`.
    ///
    /// Its result is the id of the subscription.
    pub fn subscribe_ticks(&self, n: u64, ms: u64) -> sabir::Call<String> {
        self.peer.call("subscribe_ticks", (n, ms))
    }

    /// Subtracts one number from another.
    pub fn subtract(&self, minuend: f64, subtrahend: f64) -> sabir::Call<f64> {
        self.peer.call("subtract", (minuend, subtrahend))
    }

    /// Adds any number of numbers.
    pub fn sum(&self, params: Vec<f64>) -> sabir::Call<f64> {
        self.peer.call("sum", params)
    }

    /// Sends `n` notifications `ticked`, and returns `n`.
    pub fn tick(&self, n: u64) -> sabir::Call<u64> {
        self.peer.call("tick", (n,))
    }

    /// Ends a subscription, and returns whether there was one.
    pub fn unsubscribe_ticks(&self, id: String) -> sabir::Call<bool> {
        self.peer.call("unsubscribe_ticks", (id,))
    }

    /// Remembers its params, for `notes`.
    pub async fn update(&self, params: impl serde::Serialize) -> Result<(), sabir::SendError> {
        self.peer.notify("update", params).await
    }

    /// Tells its progress as language servers do, and returns the number of steps.
    pub fn work(&self, steps: u64, work_done_token: Token) -> sabir::Call<u64> {
        self.peer.call("work", (steps, work_done_token))
    }
}

/// Step
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Step {
    /// step
    pub step: u64,
    /// steps
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
}

/// What a progress token may be.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Token {
    Text(String),
    Number(f64),
}

/// Arguments by position. Those that are left out at the end are not sent.
fn positions(required: usize, params: impl serde::Serialize) -> Vec<serde_json::Value> {
    let mut list = match serde_json::to_value(params) {
        Ok(serde_json::Value::Array(list)) => list,
        _ => Vec::new(),
    };
    while list.len() > required && list.last().is_some_and(serde_json::Value::is_null) {
        list.pop();
    }
    list
}
