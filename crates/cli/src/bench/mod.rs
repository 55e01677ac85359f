//! `sabir bench`: calls at a rate or as fast as they are answered, to any target, and what came of them. The generator is
//! `sabir-load`; here are its command line, its connections and its reports.

mod chart;
mod compare;
mod export;
mod html;
mod lanes;
mod live;
mod mix;
mod plan;
mod rank;
mod report;
mod session_lane;
mod text;
mod trial;

use std::rc::Rc;

use export::Export;
use futures_util::FutureExt;
use lanes::Opened;
use plan::Plan;
use report::{Report, Round};
use sabir::RawJson;
use sabir_load::{Class, Measure, Measured};
use trial::Trial;

use crate::args::{BenchArgs, BenchCommand};
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::session::Answers;
use crate::stop;
use crate::telemetry;

pub(crate) async fn run(args: BenchArgs, printer: &Printer) -> Result<Exit, Failure> {
    match args.does {
        Some(BenchCommand::Compare(args)) => compare::run(&args, printer),
        None => {
            let (args, calls) = (args.run, telemetry::Calls::OfCommand);
            let telemetry = telemetry::start("bench", calls, &args.telemetry, Some(&args.metrics), printer)?;
            let done = match Plan::new(args, printer) {
                Ok(plan) => measure(plan, printer).await,
                Err(failure) => Err(failure),
            };
            telemetry.finish(printer);
            done
        }
    }
}

async fn measure(mut plan: Plan, printer: &Printer) -> Result<Exit, Failure> {
    report::check_page(&plan)?;
    let mut export = telemetry::started().map(Export::new);
    let trial = Trial::make(&plan, printer).await?;
    plan.settle(&trial, printer)?;
    let mut report = Report::new(&plan, &trial);
    let mut broken = Vec::new();
    let mut interrupted = false;
    for number in 1..=plan.rounds {
        let measured = round(&plan, &trial, number, export.as_mut(), printer).await?;
        interrupted = measured.1;
        let measured = measured.0;
        let total = measured.total();
        let round = Round::new(&measured);
        let measure =
            Measure { latency: &total.latency, ok: total.ok, errors: total.errors, seconds: round.seconds };
        for limit in &plan.fail {
            if let Some(was) = limit.broken_by(&measure) {
                let which = if plan.rounds > 1 { format!(" in round {number}") } else { String::new() };
                broken.push(format!("{limit}{which}: {was}"));
            }
        }
        report.rounds.push(round);
        if interrupted || measured.ended_by.is_some() {
            return tell(&report, &plan, &broken, ended(&measured, interrupted), printer);
        }
        if total.ok == 0 {
            return tell(&report, &plan, &[], Err(all_failed(&measured)), printer);
        }
    }
    let exit = if broken.is_empty() && !interrupted { Exit::Ok } else { Exit::Error };
    tell(&report, &plan, &broken, Ok(exit), printer)
}

/// Tells what was measured. The figures come first: whatever becomes of the page, they are there.
fn tell(
    report: &Report,
    plan: &Plan,
    broken: &[String],
    end: Result<Exit, Failure>,
    printer: &Printer,
) -> Result<Exit, Failure> {
    report.tell(plan, printer)?;
    broken.iter().for_each(|broken| printer.failure(&Failure::new(Exit::Error, broken)));
    match (end, report.write_page(plan)) {
        (end, Ok(())) => end,
        (Ok(_), Err(failure)) => Err(failure),
        (Err(end), Err(failure)) => {
            printer.failure(&failure);
            Err(end)
        }
    }
}

/// One run. Also whether it was interrupted.
async fn round(
    plan: &Plan,
    trial: &Trial,
    number: u32,
    mut export: Option<&mut Export>,
    printer: &Printer,
) -> Result<(Measured, bool), Failure> {
    let Opened { lanes, keep } = lanes::open(plan, trial, printer).await?;
    let mut load = plan.load.clone();
    load.calls.clone_from(&trial.calls);
    let mut live = live::Line::new(plan, number, printer);
    let mut interrupted = false;
    // A run takes as long as it takes; its calls have a timeout of their own.
    stop::never();
    let stopped = async {
        stop::interrupted().await;
        interrupted = true;
    };
    let answers = plan.answers.clone();
    let answer = Rc::new(move |method: &str, params: Option<&RawJson<'_>>| answer(&answers, method, params));
    if let Some(export) = &mut export {
        export.begin_round();
    }
    let told = |progress: sabir_load::Progress<'_>| {
        live.show(&progress);
        if let Some(export) = &mut export {
            export.show(&progress);
        }
    };
    let measured = sabir_load::drive(load, lanes, answer, told, stopped).await;
    live.end();
    let measured =
        measured.map_err(|error| Failure::new(Exit::Error, format_args!("cannot measure: {error}")))?;
    if let Some(export) = export {
        export.end_round(&measured);
    }
    keep.close().await;
    if interrupted {
        stop::resume();
    }
    Ok((measured, interrupted))
}

/// What the server is answered. There is no person to ask, so that nothing waits.
fn answer(answers: &Answers, method: &str, params: Option<&RawJson<'_>>) -> Result<String, String> {
    let params = params.map(|params| params.clone().into_owned());
    let answered = answers.answer(method, params.as_ref()).now_or_never();
    match answered {
        Some(Ok(result)) => Ok(result.to_string()),
        Some(Err(error)) => {
            let message = serde_json::Value::from(&*error.message);
            Err(format!(r#"{{"code":{},"message":{message}}}"#, error.code))
        }
        None => Err(r#"{"code":-32601,"message":"Method not found"}"#.to_owned()),
    }
}

/// The run ended before its time.
fn ended(measured: &Measured, interrupted: bool) -> Result<Exit, Failure> {
    match &measured.ended_by {
        _ if interrupted => Err(Failure::new(Exit::Interrupted, "interrupted")),
        Some(what) => Err(Failure::new(Exit::Protocol, format_args!("the run ended early: {what}"))),
        None => Ok(Exit::Ok),
    }
}

/// No call succeeded, so nothing was measured.
fn all_failed(measured: &Measured) -> Failure {
    let Some(error) = measured.errors.first() else {
        return Failure::new(Exit::Timeout, "no call was sent").hint("measure longer with --duration");
    };
    let exit = match error.class {
        Class::Rpc(_) | Class::RpcOther | Class::Wrong => Exit::Error,
        Class::Timeout | Class::Unanswered | Class::Unsent => Exit::Timeout,
        Class::Transport | Class::Protocol => Exit::Protocol,
    };
    Failure::new(exit, format_args!("no call succeeded: {}: {}", error.class.name(), error.example))
}
