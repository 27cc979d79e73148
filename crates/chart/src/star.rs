//! What the star behind a percentile says.

use inferometer_core::quantile::least_samples;
use inferometer_message::NumbersText;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;

/// The footnote of percentiles (in percent) that are starred somewhere; absent where none is.
pub(crate) fn footnote(starred: &[f64], lang: Lang) -> Option<String> {
    let mut starred = starred.to_vec();
    starred.sort_by(f64::total_cmp);
    starred.dedup();
    let least = starred.iter();
    let least: Vec<String> = least
        .filter_map(|percent| Some(format!("p{percent}: {}", least_samples(*percent)?)))
        .collect();
    let least = [("least", PunctuationText::Comma.join(lang, &least))];
    (!starred.is_empty()).then(|| NumbersText::TooFew.with(lang, &least))
}
