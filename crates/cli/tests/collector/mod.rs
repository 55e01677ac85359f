//! A collector of OTLP over HTTP in JSON, which keeps what it is sent.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

/// Ends with the test.
pub(crate) struct Collector {
    pub(crate) url: String,
    bodies: Arc<Mutex<Vec<Value>>>,
}

/// What a span says.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) name: String,
    pub(crate) is_error: bool,
    pub(crate) attributes: BTreeMap<String, String>,
}

impl Span {
    pub(crate) fn get(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let bodies = Arc::<Mutex<Vec<Value>>>::default();
        let kept = Arc::clone(&bodies);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let body = take(stream.unwrap());
                kept.lock().unwrap().push(body);
            }
        });
        Collector { url, bodies }
    }

    /// All spans with this name.
    pub(crate) fn spans(&self, name: &str) -> Vec<Span> {
        let bodies = self.bodies.lock().unwrap();
        let spans = bodies.iter().flat_map(|body| items(&body["resourceSpans"], "scopeSpans", "spans"));
        let read = |span: &Value| Span {
            name: span["name"].as_str().unwrap().to_owned(),
            is_error: span["status"]["code"] == 2,
            attributes: attributes(span),
        };
        spans.map(read).filter(|span| span.name == name).collect()
    }

    /// The last points of a metric: their attributes, and the count of a histogram or the value of a sum.
    pub(crate) fn metric(&self, name: &str) -> Vec<(BTreeMap<String, String>, i64)> {
        let bodies = self.bodies.lock().unwrap();
        let last = bodies.iter().rfind(|body| !body["resourceMetrics"].is_null()).expect("no metrics came");
        let metrics = items(&last["resourceMetrics"], "scopeMetrics", "metrics");
        let metric = metrics.into_iter().find(|metric| metric["name"] == name);
        let points = metric.map(|metric| match metric["sum"].is_null() {
            true => metric["histogram"]["dataPoints"].clone(),
            false => metric["sum"]["dataPoints"].clone(),
        });
        let number = |point: &Value| {
            let number = point["count"].as_str().or(point["asInt"].as_str());
            (attributes(point), number.unwrap().parse().unwrap())
        };
        points.iter().flat_map(|points| points.as_array().unwrap()).map(number).collect()
    }
}

/// Takes one request, and answers it.
fn take(stream: TcpStream) -> Value {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    reader.get_mut().write_all(answer.as_bytes()).unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn items<'a>(resources: &'a Value, scopes: &str, what: &str) -> Vec<&'a Value> {
    let scopes = resources.as_array().into_iter().flatten().flat_map(|all| all[scopes].as_array().unwrap());
    scopes.flat_map(|scope| scope[what].as_array().unwrap()).collect()
}

fn attributes(of: &Value) -> BTreeMap<String, String> {
    let pair = |pair: &Value| {
        let value = pair["value"].as_object().unwrap().values().next().unwrap();
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (pair["key"].as_str().unwrap().to_owned(), value)
    };
    of["attributes"].as_array().unwrap().iter().map(pair).collect()
}
