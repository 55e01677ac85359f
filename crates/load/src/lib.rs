#![doc = include_str!("../README.md")]

mod rate;
mod schedule;
mod units;

mod limit;
mod plan;
mod times;

mod generator;
mod open_calls;
mod tally;

mod alarm;
mod codec;
mod drive;
mod exchange;
mod lane;

pub use codec::Codec;
pub use drive::{Progress, drive};
pub use generator::{Generator, Ticket};
pub use lane::{Answer, CallFn, Connect, Duplex, Lane};
pub use limit::{Limit, Measure};
pub use plan::{Call, Pace, Plan, mixed_order};
pub use rate::Rate;
pub use tally::{Class, ErrorTally, Measured, MethodTally, OTHERS, Outcome, Sample, StepTally, Waits};
pub use times::Times;
pub use units::parse_time;
