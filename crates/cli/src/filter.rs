//! `--filter`: its errors as failures of the program.

use sabir_model::filter::Filter;

use crate::exit::Failure;

pub(crate) fn parse(text: Option<&str>) -> Result<Filter, Failure> {
    let text = text.unwrap_or_default();
    text.parse().map_err(|error: sabir_model::filter::FilterError| {
        let part = text.get(error.span.clone()).unwrap_or_default();
        let at = text.get(..error.span.start).unwrap_or_default().chars().count() + 1;
        let what = match part.chars().count() {
            0 | 41.. => format!("the filter, at character {at}: {error}"),
            _ => format!("the filter, at character {at}, `{part}`: {error}"),
        };
        Failure::usage(what).hint("`sabir help filters` explains filters")
    })
}
