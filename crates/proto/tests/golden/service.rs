//! A small service for the transcripts: enough methods to reach every path of the engine.

use std::time::Duration;

use sabir_proto::{CallKey, CallOptions, ErrorCode, ErrorObject, RawJson, RequestKey, Session, Time};

/// Requests that are not answered at once.
#[derive(Default)]
pub(crate) struct Service {
    sleeping: Vec<(Time, RequestKey, u64)>,
    /// Call-backs to the peer, and the requests that wait for them.
    asking: Vec<(CallKey, RequestKey)>,
    /// Requests that go on although they were cancelled.
    stubborn: Vec<RequestKey>,
    hanging: Vec<RequestKey>,
    /// The notification whose handler is still busy.
    pub(crate) busy_until: Option<Time>,
}

impl Service {
    pub(crate) fn request(
        &mut self,
        session: &mut Session,
        now: Time,
        key: RequestKey,
        method: &str,
        params: Option<&RawJson<'_>>,
    ) {
        let numbers = || params.and_then(|p| p.parse::<Vec<i64>>().ok());
        match (method, numbers().as_deref()) {
            ("subtract", Some([a, b])) => session.reply(now, key, &(a - b)),
            ("subtract", _) => match named(params, "minuend").zip(named(params, "subtrahend")) {
                Some((a, b)) => session.reply(now, key, &(a - b)),
                None => session.reply_error(now, key, &ErrorObject::standard(ErrorCode::INVALID_PARAMS)),
            },
            ("sum", Some(numbers)) => session.reply(now, key, &numbers.iter().sum::<i64>()),
            ("get_data", _) => session.reply(now, key, &("hello", 5)),
            ("echo", _) => session.reply_raw(now, key, params.unwrap_or(&RawJson::NULL)),
            ("broken", _) => session.reply_raw(now, key, &RawJson::new("{\n  \"a\": [1,\r\n2]\n}").unwrap()),
            ("unwritable", _) => session.reply(now, key, &std::collections::BTreeMap::from([((), 1)])),
            ("fill", Some([n])) => session.reply(now, key, &"x".repeat(*n as usize)),
            ("sleep", Some([ms])) => {
                self.sleeping.push((now + Duration::from_millis(*ms as u64), key, *ms as u64));
                true
            }
            ("steps", _) => {
                for step in 1..=3u32 {
                    session.progress(now, key, &step);
                }
                session.progress(now, key, &Step { progress: 3.5, total: 4 });
                session.reply(now, key, &4)
            }
            ("stubborn", _) => {
                self.stubborn.push(key);
                true
            }
            ("hang", _) => {
                self.hanging.push(key);
                true
            }
            ("drop", _) => session.abandon(now, key),
            ("ask", _) => {
                let method: String = params.unwrap().parse::<(String,)>().unwrap().0;
                match session.call(now, &method, &(), &CallOptions::default()) {
                    Ok(call) => self.asking.push((call, key)),
                    Err(refused) => {
                        let error = ErrorObject::because(ErrorCode::INTERNAL_ERROR, refused);
                        session.reply_error(now, key, &error);
                    }
                }
                true
            }
            ("id", _) => {
                let id = session.id(key).unwrap().into_owned();
                session.reply(now, key, &id)
            }
            ("fail", _) => {
                let error = ErrorObject::new(7, "seven \"as\" asked").with_data([1, 2]);
                session.reply_error(now, key, &error)
            }
            _ => session.reply_error(now, key, &ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND)),
        };
    }

    /// The handler stops, unless it is stubborn.
    pub(crate) fn cancel(&mut self, session: &mut Session, now: Time, key: RequestKey) {
        if !self.stubborn.contains(&key) {
            self.sleeping.retain(|(_, sleeper, _)| *sleeper != key);
            self.asking.retain(|(_, asker)| *asker != key);
            session.abandon(now, key);
        }
    }

    /// A call-back was answered: its answer is the answer. Whether the call was one of ours.
    pub(crate) fn answered(
        &mut self,
        session: &mut Session,
        now: Time,
        call: CallKey,
        outcome: &Result<RawJson<'_>, ErrorObject<'_>>,
    ) -> bool {
        let Some(at) = self.asking.iter().position(|(asked, _)| *asked == call) else { return false };
        let (_, key) = self.asking.remove(at);
        match outcome {
            Ok(result) => session.reply_raw(now, key, result),
            Err(error) => session.reply_error(now, key, error),
        };
        true
    }

    pub(crate) fn release(&mut self, session: &mut Session, now: Time) {
        for key in self.stubborn.drain(..).chain(self.hanging.drain(..)) {
            session.reply(now, key, "at last");
        }
    }

    /// When something happens by itself.
    pub(crate) fn next(&self) -> Option<Time> {
        self.sleeping.iter().map(|(at, ..)| *at).chain(self.busy_until).min()
    }

    pub(crate) fn wake(&mut self, session: &mut Session, now: Time) {
        if self.busy_until.take_if(|until| *until <= now).is_some() {
            session.finish_notification(now);
        }
        self.sleeping.retain(|(at, key, ms)| {
            if *at <= now {
                session.reply(now, *key, ms);
            }
            *at > now
        });
    }
}

fn named(params: Option<&RawJson<'_>>, name: &str) -> Option<i64> {
    params?.get(name)?.parse().ok()
}

#[derive(serde::Serialize)]
struct Step {
    progress: f64,
    total: u32,
}
