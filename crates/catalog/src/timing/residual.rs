//! How far predictions without a measurement of one's own were off, by kind of model, card and
//! engine (`data/residuals.toml`, written by `bench/fit-coefficients`).

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::{
    device::Device,
    engine::EngineKind,
    model::{Dtype, Model},
};

/// What a model's layers are, as far as coefficients of their own go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Build {
    Dense,
    /// Routed experts.
    Experts,
    /// Latent attention, with or without experts.
    Latent,
    /// Layers that keep a state.
    Recurrent,
}

/// Rows that were predicted without having been looked at, and within what they lay.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Residual {
    engine: String,
    /// Prompts on workers of their own.
    #[serde(default)]
    split: bool,
    generation: String,
    /// Absent: rows of all models of this build, each predicted by coefficients of the others.
    model: Option<String>,
    build: Option<Build>,
    cards: Vec<String>,
    /// In how many bits of which kind the weights were stored: bf16, fp8, fp4, int4.
    precisions: Vec<String>,
    pub rows: u32,
    /// 9 of 10 rows were off by less than this factor − 1.
    pub e2e: f64,
    pub tpot: f64,
    pub ttft: f64,
    /// Median of the absolute error.
    pub median: Medians,
    pub concurrency: [f64; 2],
    pub input_tokens: [f64; 2],
    pub output_tokens: [f64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Medians {
    pub e2e: f64,
    pub tpot: f64,
    pub ttft: f64,
}

/// Where prompts are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompts {
    /// By the workers that answer.
    Together,
    /// By workers of their own.
    Apart,
}

/// What a prediction without a measurement of one's own rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Basis {
    /// This model was validated with this engine on this card, in this precision.
    Validated,
    /// A model of this build, or this one on a card of the same generation.
    Similar,
    /// Nothing of the kind.
    None,
}

#[derive(Deserialize)]
struct Residuals {
    residual: Vec<Residual>,
}

static RESIDUALS: LazyLock<Vec<Residual>> = LazyLock::new(|| {
    let table: Residuals = toml::from_str(include_str!("../../data/residuals.toml"))
        .expect("the shipped residuals parse");
    table.residual
});

/// How much wider bounds are for a card that was never measured: its rows are off by as much more
/// where a card is left out of the fit.
const OTHER_CARD: f64 = 1.6;
/// How much wider than those of the worst known kind bounds are where nothing was validated.
const UNKNOWN_KIND: f64 = 2.0;

impl Residual {
    /// What was validated that is nearest to a model on a card, with the bounds that follow, and
    /// how near it is.
    pub fn nearest(
        model: &Model,
        device: &Device,
        engine: EngineKind,
        prompts: Prompts,
    ) -> (Residual, Basis) {
        let build = Build::of(model);
        let known = || {
            RESIDUALS.iter().filter(|known| {
                known.engine == engine.word()
                    && known.split == (prompts == Prompts::Apart)
                    && Some(&known.generation) == device.generation.as_ref()
            })
        };
        let precision = precision(model.dtype);
        let own = known().find(|known| {
            known.model.as_deref() == Some(model.name.as_str())
                && known.precisions.iter().any(|known| known == precision)
        });
        let of_build = || known().find(|known| known.model.is_none() && known.build == Some(build));
        let of_engine = || known().find(|known| known.model.is_none() && known.build.is_none());
        if let Some(own) = own.filter(|own| own.cards.contains(&device.name)) {
            return (own.clone(), Basis::Validated);
        }
        match of_build().or_else(of_engine) {
            Some(found) if found.cards.contains(&device.name) => (found.clone(), Basis::Similar),
            Some(found) => (found.clone().wider(OTHER_CARD), Basis::Similar),
            None => (Residual::of_unknown(), Basis::None),
        }
    }

    fn wider(self, factor: f64) -> Residual {
        Residual {
            e2e: self.e2e * factor,
            tpot: self.tpot * factor,
            ttft: self.ttft * factor,
            ..self
        }
    }

    /// The widest bounds of models that were left out, and wider.
    fn of_unknown() -> Residual {
        let all = || {
            let known = RESIDUALS.iter();
            known.filter(|known| known.model.is_none() && !known.split)
        };
        let widest = |of: fn(&Residual) -> f64| all().map(of).fold(0.0, f64::max) * UNKNOWN_KIND;
        let first = all().next().expect("the table has rows of all models");
        Residual {
            rows: 0,
            e2e: widest(|known| known.e2e),
            tpot: widest(|known| known.tpot),
            ttft: widest(|known| known.ttft),
            ..first.clone()
        }
    }
}

fn precision(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 | Dtype::Bf16 | Dtype::F16 => "bf16",
        Dtype::Fp8 | Dtype::Int8 => "fp8",
        Dtype::Nvfp4 | Dtype::Mxfp4 => "fp4",
        Dtype::Int4 | Dtype::Nf4 => "int4",
    }
}

impl Build {
    fn of(model: &Model) -> Build {
        if model.kinds().recurrent.is_some() {
            Build::Recurrent
        } else if model.mla.is_some() {
            Build::Latent
        } else if model.experts.is_some() {
            Build::Experts
        } else {
            Build::Dense
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(model: &str, device: &str, engine: EngineKind) -> (Residual, Basis) {
        Residual::nearest(
            &Model::named(model).unwrap(),
            Device::named(device).unwrap(),
            engine,
            Prompts::Together,
        )
    }

    #[test]
    fn the_less_is_known_of_a_kind_the_wider_its_bounds_are() {
        let (validated, basis) = nearest("qwen3-32b", "h100", EngineKind::Vllm);
        assert_eq!(basis, Basis::Validated);
        assert!(validated.rows >= 10);
        let (similar, basis) = nearest("qwen2.5-72b", "h200", EngineKind::Vllm);
        assert_eq!(basis, Basis::Similar);
        let (unknown, basis) = nearest("qwen2.5-72b", "a100-80g", EngineKind::Vllm);
        assert_eq!((basis, unknown.rows), (Basis::None, 0));
        let all: [fn(&Residual) -> f64; 3] = [|it| it.e2e, |it| it.tpot, |it| it.ttft];
        for of in all {
            assert!(of(&validated) > 0.02 && of(&validated) < of(&unknown));
            assert!(of(&similar) < of(&unknown));
        }
    }

    #[test]
    fn prompts_on_workers_of_their_own_have_bounds_of_their_own() {
        let (model, device) = ("deepseek-v3", Device::named("gb200").unwrap());
        let model = Model::named(model).unwrap();
        let bounds = |prompts| Residual::nearest(&model, device, EngineKind::Trtllm, prompts);
        let (apart, basis) = bounds(Prompts::Apart);
        assert_eq!(basis, Basis::Validated);
        assert_ne!(bounds(Prompts::Together).0, apart);
        let (unknown, basis) =
            Residual::nearest(&model, device, EngineKind::Mindie, Prompts::Apart);
        assert_eq!(basis, Basis::None);
        assert!(unknown.rows == 0 && apart.rows >= 8);
    }

    #[test]
    fn the_same_model_on_another_card_of_the_generation_is_similar() {
        let (validated, _) = nearest("qwen3-32b", "h100", EngineKind::Vllm);
        let (similar, basis) = nearest("qwen3-32b", "h20", EngineKind::Vllm);
        assert_eq!(basis, Basis::Similar);
        assert!(similar.e2e > 1.5 * validated.e2e);
    }
}
