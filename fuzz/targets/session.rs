//! A session under any sequence of events and commands, with a model beside it that knows what is open.
//!
//! The first three bytes choose dialect, framing and limits. Each operation is one byte, with the top bit
//! set if the session is not polled afterwards, followed by its operands.

#[path = "session/messages.rs"]
mod messages;
#[path = "session/model.rs"]
mod model;
#[path = "session/setup.rs"]
mod setup;
#[path = "session/subscriptions.rs"]
mod subscriptions;

use std::time::Duration;

use model::Model;

pub(crate) fn run(data: &[u8]) {
    let Some((&[dialect, framing, limits], rest)) = data.split_first_chunk() else { return };
    let mut bytes = Bytes(rest);
    let mut model = Model::new(setup::config(dialect, framing, limits));
    while let Some(op) = bytes.next() {
        operation(&mut model, op & 0x7F, &mut bytes);
        if op & 0x80 == 0 {
            model.poll();
        }
    }
    model.end();
}

fn operation(model: &mut Model, op: u8, bytes: &mut Bytes<'_>) {
    match op % 32 {
        0 => {
            let count = bytes.one();
            model.feed(bytes.take(count as usize));
        }
        1 | 2 => {
            let (kind, id, cut) = (bytes.one(), bytes.one(), bytes.one());
            let frame = model.frame(&messages::from_peer(kind, id));
            let (first, second) = frame.split_at(frame.len().min(cut as usize));
            model.feed(first);
            if op % 32 == 1 {
                model.poll();
            }
            model.feed(second);
        }
        3 => {
            let (kind, call) = (bytes.one(), bytes.one());
            let frame = model.frame(&messages::answer(kind, model.call_id(call)));
            model.feed(&frame);
        }
        4 => model.pass(Duration::from_millis(1 << (bytes.one() % 18))),
        5 => model.call(&setup::call_options(bytes.one())),
        6 => model.notify(bytes.one()),
        7 => model.batch(bytes.one()),
        8 => model.cancel(bytes.one()),
        9 | 10 => model.reply(bytes.one(), bytes.one()),
        11 => model.reply_error(bytes.one()),
        12 => model.abandon(bytes.one()),
        13 => model.progress(bytes.one(), bytes.one()),
        14 => model.finish_notification(),
        15 | 16 => model.write(bytes.one()),
        17 => model.eof(),
        18 => model.lost(),
        19 => model.shutdown(Duration::from_millis(1 << (bytes.one() % 14))),
        20 | 21 => model.accept(bytes.one(), bytes.one()),
        22 | 23 => model.send_item(bytes.one(), bytes.one()),
        24 => model.ask_room(bytes.one()),
        25 => model.finish(bytes.one(), bytes.one()),
        26 => model.reply_unsubscribe(bytes.one(), bytes.one()),
        27 => model.subscribe(bytes.one(), &setup::call_options(bytes.one() & 7)),
        28 => model.leave(bytes.one()),
        29 => {
            // The numbers of calls are not secret.
            let (call, id) = (bytes.one(), bytes.one());
            let frame = model.frame(&messages::subscribed(call, id));
            model.feed(&frame);
        }
        30 => {
            let (kind, id) = (bytes.one(), bytes.one());
            let frame = model.frame(&messages::item(kind, id));
            model.feed(&frame);
        }
        _ => model.pause(bytes.one() % 2 == 1),
    }
}

struct Bytes<'d>(&'d [u8]);

impl<'d> Bytes<'d> {
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// Zero where the input has ended.
    fn one(&mut self) -> u8 {
        self.next().unwrap_or(0)
    }

    fn take(&mut self, count: usize) -> &'d [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
