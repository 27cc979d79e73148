//! Names near to one that is not known, for errors.

use strsim::levenshtein;

/// Of these names those nearest to a mistyped one, best first, at most three.
pub fn nearest<'a>(names: impl IntoIterator<Item = &'a str>, name: &str) -> Vec<&'a str> {
    let name = name.trim_start_matches('-').replace('_', "-");
    let name: String = name.chars().take(80).collect();
    let sorted = in_order(&name);
    // Words in another order are one mistake.
    let apart = |known: &str| {
        let reordered = levenshtein(&sorted, &in_order(known)) + 1;
        levenshtein(&name, known).min(reordered)
    };
    let mut scored: Vec<(usize, &str)> = names
        .into_iter()
        .map(|known| (apart(known), known))
        .filter(|(distance, _)| *distance <= 2 + name.chars().count() / 4)
        .collect();
    scored.sort();
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// A name with its words in the order of the alphabet.
fn in_order(name: &str) -> String {
    let mut words: Vec<&str> = name.split('-').collect();
    words.sort_unstable();
    words.join("-")
}

/// Most names of many that an error lists.
const A_FEW: usize = 5;

/// A few of many names for an error: those nearest to one that is not known, then the first.
pub fn a_few(names: &[&str], name: &str) -> String {
    let mut few = nearest(names.iter().copied(), &name.to_lowercase());
    let others: Vec<&str> = (names.iter().copied())
        .filter(|it| !few.contains(it))
        .take(A_FEW - few.len())
        .collect();
    few.extend(others);
    let more = if names.len() > few.len() { " …" } else { "" };
    few.join(", ") + more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_another_order_are_near() {
        let names = ["h100", "rtx-4090", "rtx-a6000", "rtx-pro-6000"];
        assert_eq!(
            nearest(names, "rtx-6000-pro").first(),
            Some(&"rtx-pro-6000")
        );
        assert_eq!(nearest(names, "rtx-409O").first(), Some(&"rtx-4090"));
    }

    #[test]
    fn an_error_lists_the_nearest_of_many_names_and_says_that_there_are_more() {
        let names: Vec<String> = (0..40).map(|at| format!("card-{at}")).collect();
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        names.push("h100");
        let few = a_few(&names, "H10O");
        assert!(few.starts_with("h100, card-"), "{few}");
        assert!(few.ends_with(" …") && few.len() < 60, "{few}");
        assert_eq!(a_few(&["a", "b"], "zzz"), "a, b");
    }
}
