//! What stands in brackets behind a heading, as the cards in `Qwen2.5-72B (4×H20)`: another engine
//! may have others of them, and was asked the same.

use std::collections::{BTreeMap, BTreeSet};

/// A heading without what stands in brackets, and that.
pub fn without_brackets(heading: &str) -> (String, String) {
    let (mut bare, mut inside) = (String::new(), String::new());
    let mut depth = 0_u32;
    for sign in heading.chars() {
        match sign {
            '(' | '（' => depth += 1,
            ')' | '）' => depth = depth.saturating_sub(1),
            _ if depth > 0 => inside.push(sign),
            _ => bare.push(sign),
        }
    }
    (bare.trim_end().to_owned(), inside)
}

/// The headings of what several sides have, as these meet: without brackets, unless one side has
/// several that only these tell apart. Each is given with its side.
pub fn meeting<S: Ord>(headings: &[(S, Vec<String>)]) -> Vec<Vec<String>> {
    let bare = |whole: &[String]| -> Vec<String> {
        whole.iter().map(|it| without_brackets(it).0).collect()
    };
    let mut sides: BTreeMap<Vec<String>, Vec<&S>> = BTreeMap::new();
    for (side, whole) in headings {
        sides.entry(bare(whole)).or_default().push(side);
    }
    let met = headings.iter().map(|(_, whole)| {
        let bare = bare(whole);
        let sides = &sides[&bare];
        let is_one_each = sides.iter().collect::<BTreeSet<_>>().len() == sides.len();
        if is_one_each { bare } else { whole.clone() }
    });
    met.collect()
}
