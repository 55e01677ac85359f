//! A message that goes out comes back the same.

use std::borrow::Cow;

use proptest::option;
use proptest::prelude::*;
use sabir_proto::{
    ErrorCode, ErrorObject, Id, Incoming, Limits, Message, Notification, PLAIN, RawJson, Request, Response,
};

use super::{config, decode, generate};

fn raw(text: impl Strategy<Value = String>) -> impl Strategy<Value = RawJson<'static>> {
    text.prop_map(|text| RawJson::new(text).unwrap())
}

fn id() -> impl Strategy<Value = Id<'static>> {
    prop_oneof![
        raw(generate::id()).prop_map(|id| Id::from_json(id).unwrap()),
        any::<u64>().prop_map(Id::from),
        any::<String>().prop_map(|id| Id::from(id.as_str())),
    ]
}

fn name() -> impl Strategy<Value = Cow<'static, str>> {
    prop_oneof!["[a-z/$]{0,20}", any::<String>()].prop_map(Cow::Owned)
}

fn error() -> impl Strategy<Value = ErrorObject<'static>> {
    (any::<i64>(), name(), option::of(raw(generate::json()))).prop_map(|(code, message, data)| {
        let mut error = ErrorObject::new(ErrorCode(code), message);
        error.data = data;
        error
    })
}

fn message() -> impl Strategy<Value = Message<'static>> {
    let params = || option::of(raw(generate::params()));
    let outcome = prop_oneof![raw(generate::json()).prop_map(Ok), error().prop_map(Err)];
    prop_oneof![
        (id(), name(), params()).prop_map(|(id, method, params)| Message::Request(Request {
            id,
            method,
            params
        })),
        (name(), params())
            .prop_map(|(method, params)| Message::Notification(Notification { method, params })),
        (id(), outcome).prop_map(|(id, outcome)| Message::Response(Response { id, outcome })),
    ]
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_message_comes_back_as_it_went_out(message in message()) {
        decode::comes_back(&message, &PLAIN, &Limits::default());
    }

    #[test]
    fn serde_writes_and_reads_what_encode_and_decode_do(message in message()) {
        let mut encoded = Vec::new();
        message.encode(&mut encoded);
        let text = serde_json::to_string(&message).unwrap();
        prop_assert_eq!(text.as_bytes(), encoded);
        prop_assert_eq!(serde_json::from_str::<Message<'_>>(&text).unwrap(), message);
    }

    #[test]
    fn an_owned_message_is_the_same(text in generate::envelope()) {
        let Ok(Incoming::One(Ok(message))) = sabir_proto::decode(text.as_bytes(), &PLAIN, &Limits::default())
        else {
            return Ok(());
        };
        prop_assert_eq!(message.to_string(), message.into_owned().to_string());
    }

    #[test]
    fn an_error_object_comes_back_through_serde(error in error()) {
        let text = serde_json::to_string(&error).unwrap();
        prop_assert_eq!(serde_json::from_str::<ErrorObject<'_>>(&text).unwrap(), error);
    }
}

/// Text deeper than any message may be still has its other members.
#[test]
fn deep_data_does_not_hide_the_members_around_it() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for text in [
        format!(r#"{{"data":{deep},"code":1,"message":"m"}}"#),
        format!(r#"{{"code":1,"message":"m","data":{deep}}}"#),
    ] {
        match serde_json::from_str::<ErrorObject<'_>>(&text) {
            Ok(error) => assert_eq!(error.data.map(|data| data.to_string()), Some(deep.clone())),
            Err(error) => assert!(error.to_string().starts_with("nested too deeply"), "{error}"),
        }
    }
}
