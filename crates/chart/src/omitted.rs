//! Points that are not drawn, and the footnote that names them.

use inferometer_core::summary::Summary;
use inferometer_message::FigureText;
use inferometer_page::figure::Panel;
use inferometer_text::Lang;

/// Names in a footnote before it only counts.
const MOST_NAMES: usize = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    #[default]
    Valid,
    /// All, whatever speaks against them.
    All,
}

impl Shown {
    pub(crate) fn takes(self, summary: &Summary) -> bool {
        self == Shown::All || summary.valid
    }
}

/// The name of a point that is left out, with the first reason.
pub(crate) fn name(point: &str, summary: &Summary) -> String {
    match summary.doubts.first() {
        Some(doubt) => format!("{point} ({})", doubt.code),
        None => point.to_owned(),
    }
}

/// What bands and whiskers are, where some are drawn.
pub(crate) fn intervals(panels: &[Panel], lang: Lang) -> Option<String> {
    let series = panels.iter().flat_map(|panel| &panel.series);
    let mut samples = series.flat_map(|series| series.shape.samples());
    let drawn = samples.any(|sample| sample.interval.is_some());
    drawn.then(|| FigureText::Intervals.text(lang).to_owned())
}

/// A footnote that lists names; absent where there are none.
pub fn footnote(text: FigureText, names: &[String], lang: Lang) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let mut list = names[..names.len().min(MOST_NAMES)].join(", ");
    if let more @ 1.. = names.len().saturating_sub(MOST_NAMES) {
        let count = [("count", more.to_string())];
        list = format!("{list}, {}", FigureText::AndMore.with(lang, &count));
    }
    Some(text.with(lang, &[("points", list)]))
}
