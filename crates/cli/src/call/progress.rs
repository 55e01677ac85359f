//! Progress, in any of the forms that servers use.

use sabir::RawJson;
use serde::Deserialize;

use crate::print::Printer;

#[derive(Debug, Deserialize)]
pub(crate) struct Progress {
    #[serde(alias = "step", alias = "percentage")]
    progress: f64,
    #[serde(default, alias = "steps")]
    total: Option<f64>,
    #[serde(default)]
    message: Option<String>,
}

impl Progress {
    /// Draws the progress of a call.
    pub(crate) fn draw_value(value: &RawJson<'_>, printer: &Printer) {
        if let Ok(progress) = value.parse::<Progress>() {
            progress.draw(printer);
        }
    }

    /// Draws the progress in a notification. `false` if it is about something else.
    pub(crate) fn draw_told(method: &str, params: Option<&RawJson<'_>>, printer: &Printer) -> bool {
        let progress = Progress::of(method, params);
        if let Some(progress) = &progress {
            progress.draw(printer);
        }
        progress.is_some()
    }

    fn of(method: &str, params: Option<&RawJson<'_>>) -> Option<Progress> {
        match method {
            "notifications/progress" | "progress" => params?.parse().ok(),
            "$/progress" => {
                let value = params?.get("value")?;
                let mut progress: Progress = value.parse().ok()?;
                if value.get("percentage").is_some() {
                    progress.total = Some(100.0);
                }
                Some(progress)
            }
            _ => None,
        }
    }

    fn draw(&self, printer: &Printer) {
        printer.progress(self.progress, self.total, self.message.as_deref().unwrap_or_default());
    }
}
