//! A service whose spans go to a collector of OpenTelemetry, and stand in one trace with those of its callers and of the
//! services that it calls.
//!
//! Run with `cargo run --manifest-path examples/opentelemetry/Cargo.toml -- tcp://127.0.0.1:4200 tcp://127.0.0.1:4000`: it
//! answers `double` itself, with a call to the service at the second URL, and passes everything else on to it. The
//! collector is at `http://127.0.0.1:4318`, or where `OTEL_EXPORTER_OTLP_ENDPOINT` says.

use std::error::Error;

use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::runtime::Tokio;
use opentelemetry_sdk::trace::SdkTracerProvider;
use opentelemetry_sdk::trace::span_processor_with_async_runtime::BatchSpanProcessor;
use sabir::{Propagator, Router, TraceContext};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::layer::SubscriberExt;

/// Joins spans with those of other processes: `sabir` carries the texts, and this knows the ids.
struct W3c(TraceContextPropagator);

impl Propagator for W3c {
    fn extract(&self, trace: &TraceContext<'_>, span: &Span) {
        let parent = self.0.extract_with_context(&Context::new(), &Carried(trace.clone().into_owned()));
        let _ = span.set_parent(parent);
    }

    fn inject(&self, span: &Span) -> Option<TraceContext<'static>> {
        let mut carried = Carried(TraceContext::default());
        self.0.inject_context(&span.context(), &mut carried);
        (!carried.0.traceparent.is_empty()).then_some(carried.0)
    }
}

/// A trace context, as the SDK reads and writes it.
struct Carried(TraceContext<'static>);

impl Extractor for Carried {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => Some(&self.0.traceparent),
            "tracestate" => self.0.tracestate.as_deref(),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

impl Injector for Carried {
    fn set(&mut self, key: &str, value: String) {
        match key {
            "traceparent" => self.0.traceparent = value.into(),
            // The SDK writes an empty one, too.
            "tracestate" if !value.is_empty() => self.0.tracestate = Some(value.into()),
            _ => {}
        }
    }
}

fn traced(router: Router) -> Router {
    router.spans().propagate(W3c(TraceContextPropagator::new()))
}

// The processor exports in a task, and is waited for when it shuts down: that takes two threads.
#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(own), Some(other)) = (args.next(), args.next()) else {
        return Err("usage: opentelemetry URL UPSTREAM".into());
    };
    let exporter = SpanExporter::builder().with_http().build()?;
    let provider = SdkTracerProvider::builder()
        .with_resource(Resource::builder().with_service_name("proxy").build())
        .with_span_processor(BatchSpanProcessor::builder(exporter, Tokio).build())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("example"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))?;

    // Calls that go out have spans as well.
    let upstream = sabir::connect(&*other, traced(Router::new())).await?;
    let peer = upstream.clone();
    let router = Router::new().method("double", move |_, number: i64| {
        let peer = peer.clone();
        // Its span is below that of this handler.
        async move { Ok(peer.call::<i64>("add", (number, number)).await?) }
    });
    let server = sabir::listen(&*own, traced(router.forward_to(upstream))).with_signals().await?;
    eprintln!("listening at {}", server.url());
    server.run().await?;
    // What is left is sent.
    tokio::task::spawn_blocking(move || provider.shutdown()).await??;
    Ok(())
}
