//! What tools of NATS ask every service (ADR-32, "micro"): who is there, what it offers, how much it did.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sabir_proto::utc_timestamp;
use serde_json::{Value, json};

use crate::sync::lock;
use crate::transport::nats::wire::QUEUE;

/// Bytes of the last error that are kept.
const LONGEST_ERROR: usize = 256;

/// What a worker says of itself.
pub(super) struct Identity {
    pub(super) service: String,
    pub(super) instance: String,
    pub(super) version: String,
    pub(super) description: String,
    pub(super) dialect: &'static str,
    /// The digest of what `rpc.discover` answers with.
    pub(super) openrpc: Option<String>,
    /// Where it is called.
    pub(super) subject: String,
    pub(super) started: SystemTime,
}

/// The digest of a document: instances with the same one offer the same.
pub(super) fn digest(document: &str) -> Option<String> {
    // TLS has one already.
    let suite = rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13()?;
    let hash = suite.common.hash_provider.hash(document.as_bytes());
    let digits: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("sha256:{digits}"))
}

/// What a worker has done.
#[derive(Default)]
pub(super) struct Stats {
    requests: AtomicU64,
    errors: AtomicU64,
    nanos: AtomicU64,
    last_error: Mutex<String>,
}

impl Stats {
    /// A message was answered, so long after it came.
    pub(super) fn answered(&self, took: Duration) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(took.as_nanos().min(u128::from(u64::MAX)) as u64, Ordering::Relaxed);
    }

    /// The answer was this error.
    pub(super) fn failed(&self, error: &str) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        let end = (0..=LONGEST_ERROR.min(error.len())).rev().find(|&at| error.is_char_boundary(at));
        error[..end.unwrap_or(0)].clone_into(&mut lock(&self.last_error));
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Ping,
    Info,
    Stats,
}

impl Verb {
    const ALL: [Verb; 3] = [Verb::Ping, Verb::Info, Verb::Stats];

    fn name(self) -> &'static str {
        match self {
            Verb::Ping => "PING",
            Verb::Info => "INFO",
            Verb::Stats => "STATS",
        }
    }

    /// What a subject asks.
    pub(super) fn of(subject: &str) -> Option<Verb> {
        let name = subject.strip_prefix("$SRV.")?.split('.').next()?;
        Verb::ALL.into_iter().find(|verb| verb.name() == name)
    }
}

impl Identity {
    /// Where it is asked: all services, all instances of this one, this instance.
    pub(super) fn subjects(&self) -> Vec<String> {
        let Identity { service, instance, .. } = self;
        let of = |verb: Verb| {
            let verb = verb.name();
            [
                format!("$SRV.{verb}"),
                format!("$SRV.{verb}.{service}"),
                format!("$SRV.{verb}.{service}.{instance}"),
            ]
        };
        Verb::ALL.into_iter().flat_map(of).collect()
    }

    pub(super) fn answer(&self, verb: Verb, stats: &Stats) -> String {
        let mut answer = json!({
            "type": format!("io.nats.micro.v1.{}_response", verb.name().to_ascii_lowercase()),
            "name": self.service,
            "id": self.instance,
            "version": self.version,
            "metadata": { "jsonrpc": "2.0", "dialect": self.dialect },
        });
        if let Some(openrpc) = &self.openrpc {
            answer["metadata"]["openrpc"] = openrpc.as_str().into();
        }
        let endpoint = json!({ "name": "rpc", "subject": self.subject, "queue_group": QUEUE });
        match verb {
            Verb::Ping => {}
            Verb::Info => {
                answer["description"] = self.description.as_str().into();
                let mut endpoint = endpoint;
                endpoint["metadata"] = json!({ "content-type": "application/json" });
                answer["endpoints"] = json!([endpoint]);
            }
            Verb::Stats => {
                let (count, nanos) =
                    (stats.requests.load(Ordering::Relaxed), stats.nanos.load(Ordering::Relaxed));
                let mut endpoint = endpoint;
                endpoint["num_requests"] = count.into();
                endpoint["num_errors"] = stats.errors.load(Ordering::Relaxed).into();
                endpoint["last_error"] = lock(&stats.last_error).as_str().into();
                endpoint["processing_time"] = nanos.into();
                endpoint["average_processing_time"] = nanos.checked_div(count).unwrap_or(0).into();
                answer["started"] =
                    utc_timestamp(self.started.duration_since(UNIX_EPOCH).unwrap_or_default(), 0).into();
                answer["endpoints"] = Value::Array(vec![endpoint]);
            }
        }
        answer.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity {
            service: "demo".to_owned(),
            instance: "one".to_owned(),
            version: "1.2.3".to_owned(),
            description: "Adds.".to_owned(),
            dialect: "plain",
            openrpc: digest("abc"),
            subject: "jr.demo.rpc".to_owned(),
            started: UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        }
    }

    #[test]
    fn it_is_asked_in_three_ways_for_three_things() {
        let subjects = identity().subjects();
        assert_eq!(subjects.len(), 9);
        for (subject, verb) in [
            ("$SRV.PING", Some(Verb::Ping)),
            ("$SRV.INFO.demo", Some(Verb::Info)),
            ("$SRV.STATS.demo.one", Some(Verb::Stats)),
            ("$SRV.SCHEMA", None),
            ("SRV.PING", None),
        ] {
            assert_eq!(Verb::of(subject), verb, "{subject}");
            assert_eq!(subjects.iter().any(|own| own == subject), verb.is_some(), "{subject}");
        }
    }

    #[test]
    fn answers_are_what_tools_expect() {
        let (identity, stats) = (identity(), Stats::default());
        stats.answered(Duration::from_nanos(10));
        stats.answered(Duration::from_nanos(20));
        stats.failed(&"é".repeat(200));
        let answer = |verb| serde_json::from_str::<Value>(&identity.answer(verb, &stats)).expect("JSON");
        // The first example of FIPS 180.
        let openrpc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let metadata = json!({ "jsonrpc": "2.0", "dialect": "plain", "openrpc": openrpc });
        assert_eq!(
            answer(Verb::Ping),
            json!({
                "type": "io.nats.micro.v1.ping_response",
                "name": "demo", "id": "one", "version": "1.2.3", "metadata": metadata,
            })
        );
        assert_eq!(
            answer(Verb::Info),
            json!({
                "type": "io.nats.micro.v1.info_response",
                "name": "demo", "id": "one", "version": "1.2.3", "metadata": metadata,
                "description": "Adds.",
                "endpoints": [{
                    "name": "rpc", "subject": "jr.demo.rpc", "queue_group": "q",
                    "metadata": { "content-type": "application/json" },
                }],
            })
        );
        assert_eq!(
            answer(Verb::Stats),
            json!({
                "type": "io.nats.micro.v1.stats_response",
                "name": "demo", "id": "one", "version": "1.2.3", "metadata": metadata,
                "started": "2023-11-14T22:13:20Z",
                "endpoints": [{
                    "name": "rpc", "subject": "jr.demo.rpc", "queue_group": "q",
                    "num_requests": 2, "num_errors": 1, "last_error": "é".repeat(128),
                    "processing_time": 30, "average_processing_time": 15,
                }],
            })
        );
    }
}
