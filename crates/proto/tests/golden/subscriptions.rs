//! Subscriptions in the transcripts: sources that send what they are told, and our own.

use sabir_proto::{
    Accept, CallOptions, Event, Finish, Overflow, RawJson, RequestKey, Session, SinkKey, SubscriptionKey,
    SubscriptionStyle, Time,
};

/// Both sides are numbered in the order in which they came.
#[derive(Default)]
pub(crate) struct Subscriptions {
    sinks: Vec<SinkKey>,
    ours: Vec<SubscriptionKey>,
}

fn style(name: &str) -> Option<SubscriptionStyle> {
    Some(match name {
        "plain" => SubscriptionStyle::new("subscribe", "item", "unsubscribe"),
        "notified" => SubscriptionStyle::notified("follow", "followed", "unfollow"),
        "ethereum" => SubscriptionStyle::ethereum("newHeads"),
        "geth" => SubscriptionStyle::namespace("debug", "calls"),
        "solana" => SubscriptionStyle::solana("slot"),
        "signature" => SubscriptionStyle::solana("signature"),
        "method" => SubscriptionStyle::method("happened"),
        "mcp" => SubscriptionStyle::mcp_listen(),
        "lsp" => SubscriptionStyle::lsp_partial("references"),
        _ => return None,
    })
}

const STYLES: [&str; 8] = ["plain", "notified", "ethereum", "geth", "solana", "signature", "mcp", "lsp"];

impl Subscriptions {
    /// A request, if it is about subscriptions. Whether it was. The first argument names the policy; ids count up.
    pub(crate) fn request(
        &mut self,
        session: &mut Session,
        now: Time,
        key: RequestKey,
        method: &str,
        params: Option<&RawJson<'_>>,
    ) -> bool {
        let styles = STYLES.map(|name| style(name).unwrap());
        if styles.iter().any(|style| style.unsubscribe == method) {
            return session.reply_unsubscribe(now, key, params);
        }
        let Some(style) = styles.iter().find(|style| style.subscribe == method) else { return false };
        let token = params.and_then(|params| params.get("partialResultToken"));
        let text = params.map(ToString::to_string).unwrap_or_default();
        let overflow =
            [("drop", Overflow::DropOldest), ("latest", Overflow::KeepLatest), ("close", Overflow::Close)];
        let named = overflow.into_iter().find(|(name, _)| text.contains(name));
        let overflow = named.map_or(Overflow::Wait, |(_, overflow)| overflow);
        let random = (self.sinks.len() as u64 + 1) << 11;
        let accept = Accept { style, overflow, items: None, token: token.as_ref(), random };
        match session.accept(now, key, &accept) {
            Ok(sink) => self.sinks.push(sink),
            Err(error) => drop(session.reply_error(now, key, &error)),
        }
        true
    }

    /// A command of the runner, if it is about subscriptions. What is said of it.
    pub(crate) fn command(
        &mut self,
        session: &mut Session,
        now: Time,
        word: &str,
        rest: &str,
    ) -> Option<Result<Option<String>, String>> {
        let (first, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let number = || first.parse::<usize>().map_err(|_| format!("`{first}` is not a number"));
        Some(match word {
            "item" => number().map(|n| {
                let (key, item) = match rest.strip_prefix("key=").and_then(|rest| rest.split_once(' ')) {
                    Some((key, item)) => (key.parse().unwrap_or(0), item),
                    None => (0, rest),
                };
                let item = RawJson::new(item.to_owned()).expect("an item is JSON");
                let sent = session.send_item(now, self.sinks[n], key, &item);
                sent.err().map(|error| format!("not sent: {error:?}"))
            }),
            "finish" => number().map(|n| {
                let error = sabir_proto::ErrorObject::new(7, "seven");
                let finish = if rest == "failed" { Finish::Failed(&error) } else { Finish::Finished };
                let open = session.finish(now, self.sinks[n], finish);
                (!open).then(|| "it was not open".to_owned())
            }),
            "subscribe" => match style(first) {
                Some(style) => {
                    let (params, timeout) = match rest.split_once("timeout=") {
                        Some((params, time)) => (params.trim(), crate::settings::duration(time).ok()),
                        None => (rest, None),
                    };
                    let params = (!params.is_empty()).then(|| RawJson::new(params.to_owned()).unwrap());
                    let options = CallOptions { timeout, ..CallOptions::default() };
                    match session.subscribe_raw(now, &style, params.as_ref(), &options) {
                        Ok(key) => self.ours.push(key),
                        Err(refused) => return Some(Ok(Some(format!("refused: {refused}")))),
                    }
                    Ok(None)
                }
                None => Err(format!("unknown style `{first}`")),
            },
            "undelivered" => {
                session.handle_items_undelivered(now, format!("{first} {rest}"));
                Ok(None)
            }
            "leave" => number().map(|n| {
                let open = session.unsubscribe(now, self.ours[n]);
                (!open).then(|| "it was not open".to_owned())
            }),
            _ => return None,
        })
    }

    /// What is said of an event, if it is about subscriptions.
    pub(crate) fn event(&self, event: &Event<'_>) -> Option<String> {
        let sink = |key| self.sinks.iter().rposition(|own| *own == key).unwrap();
        let ours = |key| self.ours.iter().rposition(|own| *own == key).unwrap();
        Some(match event {
            Event::SinkReady { sink: key } => format!("room for {}", sink(*key)),
            Event::SinkClosed { sink: key, end, stats } => {
                format!("sink {} closed: {end:?}, {} sent, {} lost", sink(*key), stats.sent, stats.lost)
            }
            Event::Subscribed { subscription, outcome: Ok(id) } => {
                format!("subscribed {}: {id}", ours(*subscription))
            }
            Event::Subscribed { subscription, outcome: Err(error) } => {
                format!("not subscribed {}: {error}", ours(*subscription))
            }
            Event::Item { subscription, item } => format!("item of {}: {item}", ours(*subscription)),
            Event::ItemsLost { subscription, count } => format!("lost of {}: {count}", ours(*subscription)),
            Event::SubscriptionEnded { subscription, end } => {
                format!("ended {}: {end:?}", ours(*subscription))
            }
            Event::Unsubscribed { subscription, outcome } => {
                format!("unsubscribed {}: {outcome:?}", ours(*subscription))
            }
            _ => return None,
        })
    }
}
