//! The statistic that a name says.

use crate::Stat;

/// The statistic of normalised words, and the words without a percentile.
pub(super) fn statistic(words: &str) -> (Option<Stat>, String) {
    let pieces = pieces(words);
    let mut stat = None;
    let mut rest: Vec<String> = Vec::new();
    let mut after_rank = false;
    for (at, (piece, glued)) in pieces.iter().enumerate() {
        let behind = pieces.get(at + 1).map_or("", |(piece, _)| *piece);
        let mut left = *piece;
        if std::mem::take(&mut after_rank) {
            let mut words = RANK_WORDS.split('|');
            left = words
                .find_map(|word| left.strip_prefix(word))
                .unwrap_or(left);
        }
        if let Some(rank @ Stat::Percentile(_)) = percentile(left, behind) {
            // A percentile says more than a word such as `max` in front of it.
            if !matches!(stat, Some(Stat::Percentile(_))) {
                stat = Some(rank);
            }
            after_rank = true;
            left = "";
        } else {
            stat = stat.or_else(|| Stat::of_word(left));
        }
        match rest.last_mut() {
            Some(last) if *glued => last.push_str(left),
            _ => rest.push(left.to_owned()),
        }
    }
    rest.retain(|word| !word.is_empty());
    let rest = rest.join(" ");
    (stat.or_else(|| in_chinese(&rest)), rest)
}

const RANK_WORDS: &str = "百分位数|百分位|分位数|分位值|分位|线|percentile";

/// `p99`, `tp99`, `median`, `90` before `分位`.
fn percentile(piece: &str, behind: &str) -> Option<Stat> {
    let ranked = RANK_WORDS.split('|').any(|word| behind.starts_with(word));
    let digits = piece.strip_suffix("th").unwrap_or(piece);
    if ranked && digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Stat::of_word(&format!("p{digits}"));
    }
    match Stat::of_word(piece) {
        // The median is a word that rules know.
        Some(Stat::Percentile(_)) if !piece.contains(|c: char| c.is_ascii_digit()) => None,
        stat => stat,
    }
}

/// Words, cut where ASCII ends or begins, and whether each is glued to the one before.
fn pieces(words: &str) -> Vec<(&str, bool)> {
    let mut pieces = Vec::new();
    for word in words.split(' ') {
        let mut rest = word;
        let mut glued = false;
        while let Some(first) = rest.chars().next() {
            let same = |c: char| c.is_ascii() == first.is_ascii();
            let end = rest.find(|c| !same(c)).unwrap_or(rest.len());
            pieces.push((&rest[..end], glued));
            rest = &rest[end..];
            glued = true;
        }
    }
    pieces
}

/// Chinese has no spaces: the word stands inside.
fn in_chinese(words: &str) -> Option<Stat> {
    let known = [
        ("平均", Stat::Mean),
        ("均值", Stat::Mean),
        ("中位", Stat::Percentile(50.0)),
        ("最大", Stat::Max),
        ("最小", Stat::Min),
        ("标准差", Stat::Std),
    ];
    let mut known = known.into_iter();
    known.find_map(|(part, stat)| words.contains(part).then_some(stat))
}
