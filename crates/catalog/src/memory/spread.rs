//! Which part of a model a card holds.

use std::ops::Range;

use crate::model::{Dtype, Model};

/// How a model is spread over cards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Cards that share attention, dense layers, embedding and output.
    pub tensor: u32,
    /// Groups of cards that hold consecutive layers.
    pub pipeline: u32,
    /// Cards that share the routed experts of a layer, where several replicas do so together.
    pub experts: u32,
    pub split: ExpertSplit,
    pub extra_layers: ExtraLayers,
    /// What kernels make of the experts' matrices.
    pub tile: Option<Tile>,
}

/// How cards share routed experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpertSplit {
    Sliced,
    /// Each holds some experts whole.
    Whole,
}

/// Which stages hold one layer more, where layers do not divide evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtraLayers {
    /// Those before the last, from the back (vLLM): the last has the output.
    BeforeLast,
    Last,
}

/// Multiples to which a kernel fills up the experts' matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    pub hidden: u32,
    /// Of a card's share of an expert's width.
    pub intermediate: u32,
}

impl Tile {
    /// That of the kernels which vLLM runs a model with on NVIDIA cards, where it fills up:
    /// Marlin's for 4-bit floats (its source; gpt-oss-120b loads 65.97 GiB, issue 23278).
    pub fn of_vllm(model: &Model) -> Option<Tile> {
        let filled = model.dtype == Dtype::Mxfp4 && model.experts.is_some();
        filled.then_some(Tile {
            hidden: 256,
            intermediate: 128,
        })
    }
}

/// Consecutive layers on one group of cards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    pub layers: Range<u32>,
    pub of: u32,
}

impl Stage {
    /// Share of the model's layers.
    pub fn share(&self) -> f64 {
        self.layers.len() as f64 / f64::from(self.of.max(1))
    }

    fn first(&self) -> bool {
        self.layers.start == 0
    }

    fn last(&self) -> bool {
        self.layers.end == self.of
    }
}

impl Spread {
    /// The stages, each of at least one layer.
    pub fn stages(&self, model: &Model) -> Vec<Stage> {
        let count = self.pipeline.clamp(1, model.layers.max(1));
        let (each, left) = (model.layers / count, model.layers % count);
        let longer = match self.extra_layers {
            ExtraLayers::BeforeLast => (count - 1).saturating_sub(left)..count - 1,
            ExtraLayers::Last => count - left..count,
        };
        let mut start = 0;
        let stage = |place: u32| {
            let end = start + each + u32::from(longer.contains(&place));
            let layers = std::mem::replace(&mut start, end)..end;
            Stage {
                layers,
                of: model.layers,
            }
        };
        (0..count).map(stage).collect()
    }

    pub fn weight_bytes(&self, model: &Model, stage: &Stage) -> f64 {
        let layers = model.layer_bytes(stage.layers.clone());
        let mut common = layers.common;
        if stage.first() {
            common += model.embedding_bytes();
        }
        if stage.last() {
            // A tied output is the embedding, of which the last stage needs its own.
            common += if model.tied_embeddings && !stage.first() {
                model.embedding_bytes()
            } else {
                model.output_bytes()
            };
        }
        common / f64::from(self.tensor.max(1)) + layers.experts * self.share_of_experts(model)
    }

    fn share_of_experts(&self, model: &Model) -> f64 {
        let Some(experts) = model.experts else {
            return 0.0;
        };
        let cards = self.experts.max(1);
        let (share, width) = match self.split {
            ExpertSplit::Sliced => (1.0 / f64::from(cards), experts.intermediate.div_ceil(cards)),
            ExpertSplit::Whole => {
                let held = experts.count.div_ceil(cards);
                (
                    f64::from(held) / f64::from(experts.count.max(1)),
                    experts.intermediate,
                )
            }
        };
        let filled = |size: u32, multiple: u32| {
            f64::from(
                size.checked_next_multiple_of(multiple.max(1))
                    .unwrap_or(size),
            ) / f64::from(size.max(1))
        };
        let more = self.tile.map_or(1.0, |tile| {
            filled(model.hidden, tile.hidden) * filled(width, tile.intermediate)
        });
        share * more
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::GIB;

    fn spread(tensor: u32, pipeline: u32, experts: u32) -> Spread {
        Spread {
            tensor,
            pipeline,
            experts,
            split: ExpertSplit::Whole,
            extra_layers: ExtraLayers::BeforeLast,
            tile: None,
        }
    }

    fn deal(layers: u32, pipeline: u32, extra_layers: ExtraLayers) -> Vec<usize> {
        let mut model = Model::named("llama-3.1-8b").unwrap();
        model.layers = layers;
        let spread = Spread {
            extra_layers,
            ..spread(1, pipeline, 1)
        };
        let stages = spread.stages(&model);
        stages.iter().map(|stage| stage.layers.len()).collect()
    }

    #[test]
    fn layers_are_dealt_as_each_engine_does() {
        assert_eq!(deal(61, 4, ExtraLayers::BeforeLast), [15, 15, 16, 15]);
        assert_eq!(deal(62, 4, ExtraLayers::BeforeLast), [15, 16, 16, 15]);
        assert_eq!(deal(62, 4, ExtraLayers::Last), [15, 15, 16, 16]);
        assert_eq!(deal(64, 4, ExtraLayers::Last), [16; 4]);
        assert_eq!(deal(3, u32::MAX, ExtraLayers::BeforeLast), [1; 3]);
    }

    #[test]
    fn the_cards_together_hold_the_model() {
        for name in ["deepseek-v3", "qwen2.5-72b", "mixtral-8x7b"] {
            let model = Model::named(name).unwrap();
            let spread = spread(2, 3, 2);
            let stages = spread.stages(&model);
            let held = stages
                .iter()
                .map(|stage| spread.weight_bytes(&model, stage));
            let sum = 2.0 * held.sum::<f64>();
            assert!((sum / model.weight_bytes() - 1.0).abs() < 1e-9, "{name}");
        }
    }

    #[test]
    fn replicas_share_the_experts_and_repeat_the_rest() {
        let model = Model::named("deepseek-v3").unwrap();
        let gib = |tensor, experts| {
            let spread = spread(tensor, 1, experts);
            spread.weight_bytes(&model, &spread.stages(&model)[0]) / GIB
        };
        let (alone, eight) = (gib(1, 1), gib(1, 8));
        assert!((90.0..100.0).contains(&eight), "{eight}");
        assert!(alone > 600.0);
        // Two by two: half of the rest, a quarter of the experts.
        let (half, quarter) = (gib(2, 4), gib(1, 4));
        assert!(half < quarter && half > quarter / 2.0, "{half} {quarter}");
    }

    #[test]
    fn kernels_fill_up_the_matrices_of_small_experts() {
        let text = r#"{"model_type":"gpt_oss","hidden_size":2880,"intermediate_size":2880,
            "num_hidden_layers":36,"num_attention_heads":64,"num_key_value_heads":8,
            "head_dim":64,"vocab_size":201088,"num_local_experts":128,"num_experts_per_tok":4,
            "quantization_config":{"quant_method":"mxfp4","modules_to_not_convert":[
            "model.layers.*.self_attn","model.layers.*.mlp.router","model.embed_tokens","lm_head"]}}"#;
        let model = Model::from_config_json("gpt-oss-120b", text).unwrap();
        let spread = Spread {
            tile: Tile::of_vllm(&model),
            ..spread(1, 1, 1)
        };
        let gib = spread.weight_bytes(&model, &spread.stages(&model)[0]) / GIB;
        assert!((gib / 65.97 - 1.0).abs() < 0.01, "{gib}");
        assert!(model.weight_bytes() / GIB < 61.5);
    }
}
