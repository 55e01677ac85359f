//! Decoding and encoding one message: this crate and its peers, interleaved in one run.
//!
//! Run with `bench/run parse`. It prints a table and the goals, and writes `results/parse.json`.

mod allocations;
mod candidates;
mod cases;
mod encoding;
mod timing;

use std::hint::black_box;

use serde_json::{Value, json};

use candidates::Candidate;
use cases::Case;
use timing::Cost;

/// The first candidate is what the others are compared with, the last one is ours.
struct Row {
    case: Case,
    costs: Vec<Cost>,
    allocations: f64,
}

impl Row {
    fn baseline(&self) -> Cost {
        self.costs[0]
    }

    fn ours(&self) -> Cost {
        self.costs[self.costs.len() - 1]
    }

    fn ratio(&self) -> f64 {
        self.baseline().min / self.ours().min
    }
}

fn main() -> std::io::Result<()> {
    let names: Vec<&str> = candidates::all().iter().map(|candidate| candidate.name()).collect();
    let rows: Vec<Row> = cases::all().into_iter().map(measure).collect();
    let encoded = encoding::measure();
    print_decoding(&names, &rows);
    print_encoding(&encoded);
    print_goals(&rows);
    std::fs::create_dir_all("results")?;
    let report = serde_json::to_string_pretty(&report(&names, &rows, &encoded))?;
    std::fs::write("results/parse.json", report + "\n")
}

fn measure(case: Case) -> Row {
    let mut candidates = candidates::all();
    for text in &case.texts {
        let want = candidates[0].seen(text);
        for candidate in &mut candidates {
            assert_eq!(candidate.seen(text), want, "{} in {}", candidate.name(), case.name);
        }
    }
    let run = |candidate: &mut dyn Candidate| {
        for text in &case.texts {
            candidate.run(black_box(text));
        }
    };
    let mut runs: Vec<_> = candidates.iter_mut().map(|candidate| move || run(candidate.as_mut())).collect();
    let mut runners: Vec<&mut dyn FnMut()> = runs.iter_mut().map(|run| run as &mut dyn FnMut()).collect();
    let texts = case.texts.len() as f64;
    let costs = timing::interleaved(&mut runners)
        .into_iter()
        .map(|cost| Cost { min: cost.min / texts, median: cost.median / texts })
        .collect();
    let allocations = allocations::during(|| run(&mut candidates::Ours::default())) as f64 / texts;
    Row { case, costs, allocations }
}

fn print_decoding(names: &[&str], rows: &[Row]) {
    println!(
        "Decoding: ns per message (a batch is one), best turn / median, (times faster than the baseline)\n"
    );
    print!("{:<14}{:>9}", "", "bytes");
    names.iter().for_each(|name| print!("{name:>24}"));
    println!("{:>9}", "allocs");
    for row in rows {
        print!("{:<14}{:>9}", row.case.name, row.case.bytes());
        for cost in &row.costs {
            let ratio = row.baseline().min / cost.min;
            print!("{:>24}", format!("{:.0} / {:.0} ({ratio:.2})", cost.min, cost.median));
        }
        println!("{:>9}", row.allocations);
    }
}

fn print_encoding(rows: &[encoding::Row]) {
    println!("\nEncoding a response around a ready result: ns, best turn / median\n");
    println!("{:<20}{:>20}{:>20}{:>8}", "", "serde to_writer", "ours", "ratio");
    for row in rows {
        let cell = |cost: Cost| format!("{:.1} / {:.1}", cost.min, cost.median);
        let ratio = row.serde.min / row.ours.min;
        println!("{:<20}{:>20}{:>20}{ratio:>8.2}", row.name, cell(row.serde), cell(row.ours));
    }
}

fn print_goals(rows: &[Row]) {
    println!("\nGoals\n");
    let verdict = |met| if met { "pass" } else { "FAIL" };
    for row in rows {
        if let Some(goal) = row.case.goal {
            let ratio = row.ratio();
            println!("{} {:<14} {ratio:.2}x, goal {goal}x", verdict(ratio >= goal), row.case.name);
        }
    }
    let worst = rows.iter().filter(|row| !is_batch(row)).map(|row| row.allocations).fold(0.0, f64::max);
    println!("{} allocations per single message: {worst}, goal 0", verdict(worst == 0.0));
}

fn is_batch(row: &Row) -> bool {
    row.case.texts[0].starts_with(b"[")
}

fn report(names: &[&str], rows: &[Row], encoded: &[encoding::Row]) -> Value {
    let decode: Vec<Value> = rows
        .iter()
        .map(|row| {
            let ns: serde_json::Map<String, Value> =
                names.iter().zip(&row.costs).map(|(name, cost)| (name.to_string(), json!(cost))).collect();
            json!({
                "case": row.case.name,
                "bytes": row.case.bytes(),
                "ns": ns,
                "ratio": row.ratio(),
                "goal": row.case.goal,
                "allocations": row.allocations,
            })
        })
        .collect();
    let encode: Vec<Value> =
        encoded.iter().map(|row| json!({ "case": row.name, "serde": row.serde, "ours": row.ours })).collect();
    json!({ "decode": decode, "encode": encode })
}
