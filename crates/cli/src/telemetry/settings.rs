//! What the options and the environment say: where telemetry goes, under which name, and how much of it.

use sabir::transport::Url;

use crate::args::TelemetryArgs;
use crate::exit::Failure;

/// Where telemetry goes.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// The collector, as `--otlp` or OTEL_EXPORTER_OTLP_ENDPOINT names it.
    pub(super) collector: Url,
    /// What comes before `/v1/traces`.
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    /// Who we are: `service.name` and others.
    pub(super) resource: Vec<(String, String)>,
    pub(super) sampler: Sampler,
}

/// Which traces are exported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sampler {
    /// Whether a trace that was begun elsewhere is exported as its parent is.
    follows_parent: bool,
    /// The share of those that begin here.
    ratio: f64,
}

impl Sampler {
    const ALL: Sampler = Sampler { follows_parent: true, ratio: 1.0 };

    /// By the names that all SDKs know.
    fn named(name: &str, arg: Option<&str>) -> Result<Self, String> {
        let ratio = || {
            let ratio = arg.map_or(Ok(1.0), str::parse::<f64>).ok();
            ratio
                .filter(|ratio| (0.0..=1.0).contains(ratio))
                .ok_or_else(|| "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1".to_owned())
        };
        let follows_parent = name.starts_with("parentbased_");
        let ratio = match name.trim_start_matches("parentbased_") {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => ratio()?,
            _ => {
                return Err(
                    "OTEL_TRACES_SAMPLER must be always_on, always_off or traceidratio, with parentbased_ \
                            before it or without"
                        .to_owned(),
                );
            }
        };
        Ok(Sampler { follows_parent, ratio })
    }

    /// Whether a trace is exported, by its id, so that all processes agree, or by what its parent says.
    pub(super) fn samples(self, trace: u128, parent: Option<bool>) -> bool {
        match parent {
            Some(is_sampled) if self.follows_parent => is_sampled,
            _ if self.ratio >= 1.0 => true,
            // The low 56 bits are random by W3C's rule.
            _ => ((trace & ((1 << 56) - 1)) as f64) < self.ratio * (1u64 << 56) as f64,
        }
    }
}

impl Settings {
    /// `None` if nobody wants telemetry. `variable` is the environment.
    pub(super) fn read(
        command: &str,
        args: &TelemetryArgs,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Settings>, Failure> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let Some(endpoint) = args.otlp.clone().or_else(|| set("OTEL_EXPORTER_OTLP_ENDPOINT")) else {
            return Ok(None);
        };
        if set("OTEL_SDK_DISABLED").is_some_and(|value| value.trim().eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let wrong = |what: &str, hint: &str| {
            Err(Failure::usage(format_args!(
                "`{}` is not a collector: {what}",
                sabir_proto::escape_controls(&endpoint)
            ))
            .hint(hint.to_owned()))
        };
        let collector = match Url::parse(endpoint.trim()) {
            Ok(url) if matches!(url.scheme().name(), "http" | "https") => url,
            // The error names every scheme there is; here there are two.
            Err(error) if endpoint.trim().starts_with("http") => {
                return wrong(&error.to_string(), "write it as http://127.0.0.1:4318");
            }
            _ => return wrong("it must be http:// or https://", "write it as http://127.0.0.1:4318"),
        };
        let path = collector.path().trim_end_matches('/').to_owned();
        let given = set("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
        let headers = pairs(&given);
        let is_header = |(name, value): &(String, String)| {
            sabir::http::HeaderName::from_bytes(name.as_bytes()).is_ok()
                && sabir::http::HeaderValue::from_str(value).is_ok()
        };
        // One that is left out may be what the collector lets in by.
        let is_whole = given.split(',').filter(|pair| !pair.trim().is_empty()).count() == headers.len();
        if !is_whole || !headers.iter().all(is_header) {
            // Not repeated: it may be a secret.
            return Err(Failure::usage("OTEL_EXPORTER_OTLP_HEADERS has an invalid header")
                .hint("write it as name=value,other=value"));
        }
        let mut resource = vec![
            ("service.name".to_owned(), format!("sabir-{command}")),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("telemetry.sdk.name".to_owned(), "sabir".to_owned()),
            ("telemetry.sdk.language".to_owned(), "rust".to_owned()),
        ];
        let name = set("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name));
        let given = pairs(&set("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
        for (name, value) in given.into_iter().chain(name) {
            match resource.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = value,
                None => resource.push((name, value)),
            }
        }
        let sampler = match set("OTEL_TRACES_SAMPLER") {
            None => Sampler::ALL,
            Some(name) => {
                Sampler::named(name.trim(), set("OTEL_TRACES_SAMPLER_ARG").as_deref().map(str::trim))
                    .map_err(Failure::usage)?
            }
        };
        Ok(Some(Settings { collector, path, headers, resource, sampler }))
    }
}

/// `name=value,other=value`, with `%XX` in values. What has no `=` is left out, as SDKs do.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), unescaped(value.trim())))
    };
    text.split(',').filter_map(pair).collect()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, more)) = rest.split_first() {
        let digits = more.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    fn read(otlp: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<Settings>, Failure> {
        let args = TelemetryArgs { otlp: otlp.map(str::to_owned), ..TelemetryArgs::default() };
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Settings::read("demo", &args, find)
    }

    #[test]
    fn the_environment_is_that_of_all_sdks() {
        assert!(read(None, &[]).unwrap().is_none());
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/base/");
        let settings = read(None, &[endpoint]).unwrap().unwrap();
        assert_eq!((settings.collector.host(), &*settings.path), ("collector", "/base"));
        assert_eq!(settings.resource[0], ("service.name".to_owned(), "sabir-demo".to_owned()));
        assert_eq!(settings.sampler, Sampler::ALL);
        let settings = read(
            Some("http://[::1]:4318"),
            &[
                endpoint,
                ("OTEL_SERVICE_NAME", "shop"),
                ("OTEL_RESOURCE_ATTRIBUTES", "service.name=lost,team=a%2Cb,nothing, zone = z "),
                ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"),
                ("OTEL_TRACES_SAMPLER", "traceidratio"),
                ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
            ],
        );
        let settings = settings.unwrap().unwrap();
        assert_eq!((settings.collector.host(), &*settings.path), ("::1", ""));
        let value = |name: &str| settings.resource.iter().find(|(known, _)| known == name).unwrap().1.clone();
        assert_eq!((&*value("service.name"), &*value("team"), &*value("zone")), ("shop", "a,b", "z"));
        assert_eq!(settings.headers, [("x-key".to_owned(), "a b".to_owned())]);
        assert_eq!(settings.sampler, Sampler { follows_parent: false, ratio: 0.25 });
        for disabled in ["true", "TRUE "] {
            assert!(read(None, &[endpoint, ("OTEL_SDK_DISABLED", disabled)]).unwrap().is_none());
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (otlp, variables) in [
            ("tcp://127.0.0.1:4318", &[][..]),
            ("collector", &[]),
            ("http://c:1", &[("OTEL_TRACES_SAMPLER", "some")]),
            ("http://c:1", &[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "2")]),
            ("http://c:1", &[("OTEL_EXPORTER_OTLP_HEADERS", "a b=c")]),
            ("http://c:1", &[("OTEL_EXPORTER_OTLP_HEADERS", "a=b,bad header")]),
        ] {
            assert!(read(Some(otlp), variables).is_err(), "{otlp} {variables:?}");
        }
    }

    #[test]
    fn samplers_decide_by_the_trace_or_its_parent() {
        let half = Sampler::named("parentbased_traceidratio", Some("0.5")).unwrap();
        let (low, high) = (1, u128::MAX);
        assert!(half.samples(low, None) && !half.samples(high, None));
        assert!(half.samples(high, Some(true)) && !half.samples(low, Some(false)));
        let off = Sampler::named("always_off", None).unwrap();
        assert!(!off.samples(low, Some(true)));
        assert!(Sampler::named("always_on", None).unwrap().samples(high, Some(false)));
    }
}
