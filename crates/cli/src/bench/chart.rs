//! Charts of lines as SVG. Colours come from the page, so that they fit light and dark.

use std::fmt::Write;

use super::text::{count, ms};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 34.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = 16.0;

/// Where labels along the bottom end at their place, instead of being centred there.
const LAST_PART: f64 = 0.97;

/// A line of a chart. Its name is ours, and needs no escaping.
pub(super) struct Series {
    pub(super) name: &'static str,
    /// Decides its colour.
    pub(super) class: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// What is along the bottom: places between 0 and 1, and their names.
pub(super) type Ticks = Vec<(f64, String)>;

/// What numbers at the side are.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Millis,
    Number,
}

/// A chart with its legend. The x of points are between 0 and 1.
pub(super) fn lines(title: &str, unit: Unit, ticks: &Ticks, series: &[Series]) -> String {
    let most = series.iter().flat_map(|series| &series.points).map(|(_, y)| *y).fold(0.0, f64::max);
    let top = nice(most);
    let x = |at: f64| LEFT + at.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - (value / top).clamp(0.0, 1.0) * (HEIGHT - BOTTOM - TOP);
    let mut out = format!("<figure><figcaption><b>{title}</b>");
    for Series { name, class, .. } in series {
        let _ = write!(out, "<span class=\"key {class}\">{name}</span>");
    }
    let _ = write!(
        out,
        "</figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">"
    );
    for part in 0..=4 {
        let value = top * f64::from(part) / 4.0;
        let label = match unit {
            _ if part == 0 => "0".to_owned(),
            Unit::Millis => format!("{} ms", ms(value)),
            Unit::Number => count(value.round() as u64),
        };
        let at = y(value);
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"side\" x=\"{}\" y=\"{:.1}\">{label}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0
        );
    }
    for (at, label) in ticks {
        // Centred, it would leave the picture at its right side.
        let class = if *at > LAST_PART { "below last" } else { "below" };
        let _ = write!(
            out,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{}\">{label}</text>",
            x(*at),
            HEIGHT - BOTTOM + 20.0
        );
    }
    for Series { class, points, .. } in series {
        let path: Vec<String> =
            points.iter().map(|(at, value)| format!("{:.1},{:.1}", x(*at), y(*value))).collect();
        let _ = match &path[..] {
            [] => Ok(()),
            // One point is not a line.
            [_] => {
                let (at, value) = points[0];
                write!(out, "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>", x(at), y(value))
            }
            _ => write!(out, "<polyline class=\"{class}\" points=\"{}\"/>", path.join(" ")),
        };
    }
    out.push_str("</svg></figure>\n");
    out
}

/// A round number that is at least as large.
fn nice(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.iter().map(|step| step * power).find(|step| *step >= value).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers() {
        for (value, want) in
            [(0.0, 1.0), (f64::NAN, 1.0), (0.9, 1.0), (1.1, 1.2), (97.0, 100.0), (2300.0, 2400.0)]
        {
            assert!((nice(value) - want).abs() < 1e-9, "{value}: {}", nice(value));
        }
    }

    #[test]
    fn the_last_label_stays_inside() {
        let ticks = [0.0, 0.5, 1.0].map(|at| (at, "100..2000/30s".to_owned())).to_vec();
        let chart = lines("t", Unit::Millis, &ticks, &[]);
        assert_eq!(chart.matches("class=\"below\"").count(), 2, "{chart}");
        assert!(chart.contains("class=\"below last\" x=\"704.0\""), "{chart}");
        assert!(include_str!("report.css").contains(".last{text-anchor:end}"));
    }

    #[test]
    fn no_figure_breaks_a_chart() {
        let points = vec![(0.0, 0.0), (f64::NAN, 1.0), (2.0, f64::INFINITY), (0.5, -1.0)];
        for points in [vec![], vec![(0.5, 1.0)], points] {
            let chart = lines("t", Unit::Millis, &vec![], &[Series { name: "a", class: "a", points }]);
            assert!(chart.starts_with("<figure>") && chart.ends_with("</figure>\n"), "{chart}");
        }
    }
}
