//! Names on an axis, without what all of them say.

use super::{Axis, Figure, Scale};

/// Characters of a name that a chart shows whole.
pub const WHOLE: usize = 28;

/// What stands between the parts of a name.
const BETWEEN: [&str; 2] = [" / ", ", "];

/// Names as an axis has room for them: where one is longer than `most`, parts that all have are left
/// out, or else the words with which all begin or end.
pub fn told_apart(names: &[String], most: usize) -> Vec<String> {
    let is_long = |name: &String| name.chars().count() > most;
    if names.len() < 2 || !names.iter().any(is_long) {
        return names.to_vec();
    }
    let mut shown = names.to_vec();
    for between in BETWEEN {
        shown = without_shared_parts(&shown, between).unwrap_or(shown);
    }
    let is_list = |name: &String| BETWEEN.iter().any(|between| name.contains(between));
    if !shown.iter().any(is_list) {
        shown = without_shared_words(&shown).unwrap_or(shown);
    }
    shown
}

/// The figure as it is drawn, with the names on its axes told apart.
pub(super) fn of_drawing(figure: &Figure) -> Figure {
    let mut figure = figure.clone();
    let panels = figure.panels.iter_mut();
    for Axis { scale, .. } in panels.flat_map(|panel| [&mut panel.x, &mut panel.y]) {
        if let Scale::Category(names) = scale {
            *names = told_apart(names, WHOLE);
        }
    }
    figure
}

/// The names without the parts that all have; absent where nothing were left of one.
fn without_shared_parts(names: &[String], between: &str) -> Option<Vec<String>> {
    let parts: Vec<Vec<&str>> = names.iter().map(|it| it.split(between).collect()).collect();
    let is_shared = |part: &str| parts.iter().all(|all| all.contains(&part));
    let own = |all: &Vec<&str>| {
        let kept = all.iter().filter(|part| !is_shared(part)).copied();
        kept.collect::<Vec<_>>().join(between)
    };
    told(parts.iter().map(own).collect())
}

/// The names without the words at their beginning and end that all have; absent where that leaves
/// nothing, or a bare number, of one.
fn without_shared_words(names: &[String]) -> Option<Vec<String>> {
    let words: Vec<Vec<&str>> = names.iter().map(|it| it.split(' ').collect()).collect();
    let fewest = words.iter().map(Vec::len).min()?;
    let head = (0..fewest)
        .take_while(|&at| words.iter().all(|all| all[at] == words[0][at]))
        .count();
    let last = |all: &[&str], at: usize| all[all.len() - 1 - at].to_owned();
    let tail = (0..fewest.saturating_sub(head))
        .take_while(|&at| words.iter().all(|all| last(all, at) == last(&words[0], at)))
        .count();
    let shown = words
        .iter()
        .map(|all| all[head..all.len() - tail].join(" "));
    let shown = told(shown.collect())?;
    let is_number = |name: &String| name.parse::<f64>().is_ok();
    (!shown.iter().any(is_number)).then_some(shown)
}

fn told(names: Vec<String>) -> Option<Vec<String>> {
    (!names.iter().any(String::is_empty)).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(names: &[&str]) -> Vec<String> {
        told_apart(
            &names.iter().map(|&it| it.to_owned()).collect::<Vec<_>>(),
            20,
        )
    }

    #[test]
    fn what_all_long_names_say_is_left_out() {
        assert_eq!(
            shown(&[
                "input-tokens=1000, output-tokens=500, concurrency=8",
                "input-tokens=1000, output-tokens=500, concurrency=16",
            ]),
            ["concurrency=8", "concurrency=16"]
        );
        assert_eq!(
            shown(&[
                "vLLM 0.10.1 (L20) / Qwen2.5-7B / trial 0-64",
                "MindIE 2.0 (910B4) / Qwen2.5-7B / trial 7-32",
            ]),
            [
                "vLLM 0.10.1 (L20) / trial 0-64",
                "MindIE 2.0 (910B4) / trial 7-32"
            ]
        );
        assert_eq!(
            shown(&["vllm qwen2.5-7b a100-80g bf16", "vllm qwen2.5-7b h100 bf16"]),
            ["a100-80g", "h100"]
        );
    }

    #[test]
    fn names_stay_as_they_are_where_they_are_short_or_would_say_nothing() {
        let short = ["load 8 streams", "load 16 streams"];
        assert_eq!(shown(&short), short);
        let bare = ["max-num-batched-tokens 512", "max-num-batched-tokens 2048"];
        assert_eq!(shown(&bare), bare);
        let part = ["max-num-seqs=256, enforce-eager", "max-num-seqs=256"];
        assert_eq!(shown(&part), part);
    }
}
