//! Launch flags of published runs with prompts on workers of their own, one by one
//! (`data/split-recipes.csv`, written by `bench/split-recipes`): how many prompts and answers a
//! worker takes at once decides how long first tokens wait, and was chosen anew for each load.

use super::row::{MeasuredRow, Role, Sizes};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Flags of a prefill worker and of one that answers, by what a row says of itself.
static RECIPES: LazyLock<HashMap<String, [&str; 2]>> = LazyLock::new(|| {
    let table = include_str!("../../data/split-recipes.csv").lines();
    let rows = table.filter(|line| !line.starts_with('#')).skip(1);
    let mut recipes = HashMap::new();
    for row in rows {
        let [configuration, prefill, decode] = columns(row);
        let (configuration, streams) = configuration
            .rsplit_once(',')
            .expect("a configuration ends with its streams");
        for streams in streams.split(' ') {
            recipes.insert(format!("{configuration},{streams}"), [prefill, decode]);
        }
    }
    recipes
});

/// What the row was measured with, and the flags of both kinds of workers.
fn columns(row: &str) -> [&str; 3] {
    let mut columns = row.rsplitn(3, ',');
    let mut next = || columns.next().expect("flags of both kinds of workers");
    let (decode, prefill, configuration) = (next(), next(), next());
    [configuration, prefill, decode]
}

/// The flags that the row's workers of this kind were started with, as far as they are published.
pub(super) fn flags(
    row: &MeasuredRow,
    model: &str,
    concurrency: u32,
    role: Role,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let found = key(row, model, concurrency).and_then(|key| RECIPES.get(&key));
    let flags = match (found, role) {
        (Some([prefill, _]), Role::Prefill) => prefill,
        (Some([_, decode]), Role::Decode) => decode,
        _ => "",
    };
    flags.split(' ').filter_map(|flag| flag.split_once('='))
}

fn key(row: &MeasuredRow, model: &str, concurrency: u32) -> Option<String> {
    let prefill = row.prefill.filter(|_| model == "deepseek-v3")?;
    let [x, y] = prefill.workers?;
    let (prefill, decode) = (workers(x, prefill.sizes), workers(y, row.sizes));
    Some(format!(
        "{},{},{},{},{},{prefill},{decode},{concurrency}",
        row.engine, row.card, row.precision, row.input, row.output
    ))
}

/// `COUNTxCARDS`, with `dp` where each card attends for requests of its own.
fn workers(count: u32, sizes: Sizes) -> String {
    let apart = if sizes.replicas > 1 { "dp" } else { "" };
    format!("{count}x{}{apart}", sizes.cards())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::{PrefillRow, read_table};

    const TABLE: &str = include_str!("../../../../fixtures/plan/silicon-sample.csv");

    #[test]
    fn a_published_run_is_found_by_its_workers_and_streams() {
        let rows = read_table(TABLE).unwrap();
        let split = rows.iter().find(|row| row.prefill.is_some()).unwrap();
        let row = MeasuredRow {
            engine: "trtllm".to_owned(),
            card: "b200".to_owned(),
            precision: "fp4".to_owned(),
            input: 1024,
            output: 1024,
            sizes: SIZES[1],
            prefill: Some(PrefillRow {
                sizes: SIZES[0],
                workers: Some([1, 5]),
            }),
            ..split.clone()
        };
        let of = |streams, role| -> Vec<_> { flags(&row, "deepseek-v3", streams, role).collect() };
        let decode = of(180, Role::Decode);
        assert!(decode.contains(&("max-num-seqs", "32")), "{decode:?}");
        let prefill = of(180, Role::Prefill);
        assert!(prefill.contains(&("max-num-batched-tokens", "10240")));
        // Nobody published a run with so many streams, nor workers that do all.
        assert!(of(181, Role::Decode).is_empty());
        assert!(of(180, Role::All).is_empty());
    }

    const SIZES: [Sizes; 2] = [
        Sizes {
            tensor: 1,
            replicas: 4,
            experts: 4,
        },
        Sizes {
            tensor: 8,
            replicas: 1,
            experts: 1,
        },
    ];
}
