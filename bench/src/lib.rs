//! What the benchmarks that start servers share: where things run, what the kernel counts, and what is
//! made of the figures.

mod chart;
mod cores;
mod counter;
mod load;
mod process;
mod report;
mod rounds;
mod sample;
mod stream;

pub use chart::Bars;
pub use cores::{PLACEMENTS, Placed, Placement};
pub use counter::Counter;
pub use load::{Load, Ring, add, check_count, echoed, sum, wrong};
pub use process::{Process, cpu_of, cpu_of_this_thread};
pub use report::{Goal, Kind, Line, Table};
pub use rounds::{Program, Row, measure_all, report};
pub use sample::{Metric, Sample, metric, percentile};
pub use stream::{StreamServer, start_listening};
