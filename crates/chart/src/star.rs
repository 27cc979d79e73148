//! What the star behind a percentile says.

use inferometer_message::NumbersText;
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;

/// The footnote of starred percentiles (in percent), each with the requests that it would take
/// (`Distribution::requests_for`): the most of those that are given for it. Absent where none is.
pub fn footnote(starred: impl IntoIterator<Item = (f64, u64)>, lang: Lang) -> Option<String> {
    let mut starred: Vec<(f64, u64)> = starred.into_iter().collect();
    starred.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    starred.dedup_by_key(|(percent, _)| *percent);
    let needed: Vec<String> = (starred.iter())
        .map(|(percent, requests)| format!("p{percent}: {}", number::count(*requests)))
        .collect();
    let needed = [("needed", PunctuationText::Comma.join(lang, &needed))];
    (!starred.is_empty()).then(|| NumbersText::TooFew.with(lang, &needed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_percentile_is_told_once_with_the_most_that_it_takes() {
        let said = footnote([(99.0, 459), (95.0, 90), (99.0, 1560)], Lang::En);
        let said = said.unwrap();
        assert!(said.contains("p95: 90, p99: 1,560"), "{said}");
        assert_eq!(footnote([], Lang::En), None);
    }
}
