//! Launch flags of published nightly runs, which tables leave out (`data/recipes.toml`).

use super::row::{MeasuredRow, Provenance, Role};
use super::split_recipe;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    engine: String,
    /// Empty for all, as are `cards`.
    #[serde(default)]
    models: Vec<String>,
    #[serde(default)]
    cards: Vec<String>,
    precision: Option<String>,
    #[serde(default)]
    least_concurrency: u32,
    /// Prompts of so many tokens; absent for all, as is `output`.
    input: Option<u32>,
    output: Option<u32>,
    #[serde(default)]
    role: Role,
    #[serde(default)]
    measured: Provenance,
    flags: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Recipes {
    recipe: Vec<Recipe>,
}

static RECIPES: LazyLock<Vec<Recipe>> = LazyLock::new(|| {
    let recipes: Recipes =
        toml::from_str(include_str!("../../data/recipes.toml")).expect("the shipped recipes parse");
    recipes.recipe
});

/// The flags that a run of this kind was started with.
pub(super) fn flags(
    row: &MeasuredRow,
    model: &str,
    concurrency: u32,
    role: Role,
) -> BTreeMap<String, String> {
    let listed =
        |names: &[String], name: &str| names.is_empty() || names.iter().any(|known| known == name);
    let fits = |recipe: &&Recipe| {
        let precision = recipe.precision.as_ref();
        recipe.engine == row.engine
            && listed(&recipe.models, model)
            && listed(&recipe.cards, &row.card)
            && precision.is_none_or(|precision| *precision == row.precision)
            && concurrency >= recipe.least_concurrency
            && recipe.input.is_none_or(|input| input == row.input)
            && recipe.output.is_none_or(|output| output == row.output)
            && recipe.role == role
            && recipe.measured == row.provenance
    };
    let sizes = match (role, row.prefill) {
        (Role::Prefill, Some(prefill)) => prefill.sizes,
        _ => row.sizes,
    };
    let mut flags = BTreeMap::new();
    for recipe in RECIPES.iter().filter(fits) {
        for (name, value) in &recipe.flags {
            let value = match value.as_str() {
                "{concurrency}" => concurrency.to_string(),
                "{one-prompt}" => one_prompt(row.input, concurrency).to_string(),
                "{twice-input}" => row.input.saturating_mul(2).to_string(),
                value => match value.strip_suffix(" a replica") {
                    Some(each) => of_all(each, sizes.replicas),
                    None => value.to_owned(),
                },
            };
            flags.insert(name.clone(), value);
        }
    }
    for (name, value) in split_recipe::flags(row, model, concurrency, role) {
        flags.insert(name.to_owned(), value.to_owned());
    }
    flags
}

/// What all replicas have of it, of a worker whose flags count them together.
fn of_all(each: &str, replicas: u32) -> String {
    let each: u32 = each.parse().expect("the shipped recipes have numbers");
    each.saturating_mul(replicas).to_string()
}

/// Tokens of a step that holds one prompt beside all that decode, in whole blocks; at least 8192.
fn one_prompt(input: u32, concurrency: u32) -> u32 {
    let tokens = input.saturating_add(concurrency).saturating_add(64);
    tokens.div_ceil(64).saturating_mul(64).max(8192)
}
