//! How long a step of the engine takes: an additive roofline with host costs.
//!
//! A step multiplies its tokens with the weights (arithmetic or memory, whichever is slower),
//! attends, reads the KV cache, talks between cards, and costs the host something for each
//! layer, each sequence and itself. The coefficients come from a [`Timing`] profile.

mod profile;
mod residual;
mod step_shape;

pub use profile::{ApiCost, Profiles, Timing, TimingError};
pub use residual::{Basis, Prompts, Residual};
pub use step_shape::StepShape;

use crate::{
    device::{Device, ExpertGroup, Parallel},
    model::{Dtype, Model},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelLaunch {
    /// One by one, without compilation.
    Eager,
    /// By CUDA graphs for batches up to this many tokens, padded to a captured size; compiled
    /// but one by one above.
    Graphs(u32),
    /// The same for steps that only decode; steps with some prefill are launched one by one.
    DecodeGraphs(u32),
}

/// The batch size that was captured and serves `tokens`: 1, 2, 4, then steps of 8 to 256, then
/// steps of 16.
pub fn captured_size(tokens: u32) -> u32 {
    match tokens {
        0..=2 => tokens,
        3..=4 => 4,
        5..=256 => tokens.next_multiple_of(8),
        _ => tokens.checked_next_multiple_of(16).unwrap_or(tokens),
    }
}

/// Bytes per second between the cards (NVLink 4) on which replicas shared experts when coefficients
/// were fitted: what the exchange takes there is in `expert_layer_us`.
const FITTED_LINK: f64 = 450e9;

/// The seconds of each term of a step at its coefficients; their combination is the step time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    pub linear: f64,
    pub attention: f64,
    pub weights: f64,
    /// `linear` and `weights` of routed experts.
    pub expert_linear: f64,
    pub expert_weights: f64,
    pub kv: f64,
    pub allreduce: f64,
    /// Bringing tokens to the experts of other replicas' cards and back, as far as the link is
    /// slower than those on which `layers` was fitted; what a library of its own takes for that.
    pub all_to_all: f64,
    pub layers: f64,
    /// Host time to launch all layers, during which the device runs.
    pub launch: f64,
    /// Host time that nothing hides.
    pub host: f64,
}

/// The step time of a model on a device: all that does not change from step to step, computed
/// once.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTime {
    timing: Timing,
    launch: KernelLaunch,
    linear_per_token: f64,
    expert_linear_per_token: f64,
    output_per_sequence: f64,
    attention_per_pair: f64,
    /// The same in layers with a window.
    windowed_attention_per_pair: f64,
    kv_per_token: f64,
    windowed_kv_per_token: f64,
    /// What an indexer multiplies and reads of the whole context.
    index_per_pair: f64,
    index_per_token: f64,
    /// Reading the weights that every step reads.
    common_weights: f64,
    /// Reading one routed expert of each layer, and the model whose routing says how many are.
    expert_weights: Option<(Model, f64)>,
    /// Tokens of other replicas for one of this, where they share the experts.
    tokens_at_experts: f64,
    groups_experts: bool,
    window: Option<u32>,
    state_per_sequence: f64,
    allreduce_per_token: f64,
    allreduce_latency: f64,
    all_to_all_per_token: f64,
    exchange_per_token: f64,
    /// Groups of cards that hold consecutive layers.
    stages: u32,
    hops_per_token: f64,
    hops_latency: f64,
    layers: f64,
    /// µs more to launch layers of experts, latents and states.
    kinds_launch_us: f64,
    /// µs of all layers, and for each sequence.
    layers_us: f64,
    layers_us_per_sequence: f64,
}

impl StepTime {
    /// Step times of a model on a device.
    ///
    /// A pipeline works on as many parts of the batch at once as it has stages, or as there are
    /// sequences. Every part passes all stages, so that a step takes what one part takes alone;
    /// fewer sequences than stages leave stages idle. The chunks of one prompt do not overlap.
    pub fn new(model: &Model, device: &Device, parallel: &Parallel, timing: &Timing) -> StepTime {
        let tensor = f64::from(parallel.tensor.max(1));
        let half = device.flops(Dtype::Bf16) * tensor;
        let read = device.bandwidth() * tensor;
        let layers = f64::from(model.layers);
        let kinds = model.kinds();
        let weights = model.step_weights();
        // What a card has of the experts, and how much more the busiest has.
        let (expert_cards, imbalance) = match parallel.experts {
            ExpertGroup::Sliced => (tensor, 1.0),
            ExpertGroup::Whole(cards) => (
                f64::from(cards.max(parallel.tensor).max(1)),
                1.0 + timing.expert_imbalance,
            ),
        };
        let narrow = match model.dtype {
            Dtype::Fp8 | Dtype::Int8 => timing.eight_bit,
            Dtype::Nvfp4 | Dtype::Mxfp4 if device.fp4_tflops.is_some() => timing.four_bit,
            Dtype::Nvfp4 | Dtype::Mxfp4 | Dtype::Int4 | Dtype::Nf4 => timing.weight_only,
            Dtype::F32 | Dtype::Bf16 | Dtype::F16 => 1.0,
        };
        // What enters products of few bits is brought to them first.
        let (narrowing_us, narrowing_expert_us) = match model.dtype {
            Dtype::Fp8 | Dtype::Int8 => (timing.eight_bit_layer_us, timing.eight_bit_expert_us),
            Dtype::Nvfp4 if device.fp4_tflops.is_some() => {
                (timing.four_bit_layer_us, timing.four_bit_expert_us)
            }
            _ => (0.0, 0.0),
        };
        let own = device.flops(model.dtype) * tensor / narrow;
        let visited = model
            .experts
            .map_or(0.0, |experts| f64::from(experts.active));
        let of_library = |known: Option<f64>| known.filter(|_| parallel.grouped_experts);
        let by_library = |known| of_library(known).unwrap_or(0.0);
        let grouped = of_library(timing.grouped_expert_linear);
        let expert_linear = grouped.unwrap_or(timing.expert_linear);
        let routed = visited * weights.expert * expert_linear * imbalance;
        let multiplied = weights.common / own + weights.common_in_16_bits / half;
        // What every card does with whole tokens, however many share the layers.
        let state = f64::from(model.hidden) * Dtype::Bf16.bytes() / device.bandwidth();
        let touches = timing.activation * layers;
        let expert_touches =
            timing.expert_activation * visited * f64::from(kinds.sparse) / expert_cards;
        // Two all-reduces per layer; a ring moves 2(n−1)/n of the activations over each link.
        let rounds = if tensor > 1.0 { 2.0 * layers } else { 0.0 };
        let hops = f64::from(parallel.pipeline.max(1) - 1);
        let moved = 2.0 * (tensor - 1.0) / tensor * f64::from(model.hidden) * 2.0;
        // Where replicas share the experts, a token goes to the cards of its experts and back.
        let others = (expert_cards - tensor).max(0.0);
        let state_bytes = f64::from(model.hidden) * Dtype::Bf16.bytes();
        let exchanged = 2.0 * f64::from(kinds.sparse) * visited.min(others) * state_bytes;
        let slower = (1.0 / device.link() - 1.0 / FITTED_LINK).max(0.0);
        let attending = f64::from(kinds.attention()).max(1.0);
        let indexer = model.indexer();
        // What an indexer chooses is a window of that many tokens, wherever they lie.
        let (full, windowed) = match indexer {
            Some(_) => (0.0, 1.0),
            None => (
                f64::from(kinds.full) / attending,
                f64::from(kinds.windowed) / attending,
            ),
        };
        let in_own_layers = |each: f64| indexer.map_or(0.0, |_| attending * each);
        let index_bytes = in_own_layers(indexer.map_or(0.0, |it| it.key_bytes()));
        let index_flops = in_own_layers(indexer.map_or(0.0, |it| it.flops_per_pair()));
        let attention = timing.attention * model.attention_flops_per_pair() / half;
        let latent = if model.mla.is_some() {
            timing.latent_kv
        } else {
            1.0
        };
        let kv_bytes = model.kv_bytes_per_token(parallel.tensor, Dtype::Bf16) - index_bytes;
        let kv = timing.kv * latent * kv_bytes / device.bandwidth();
        let latent_layers = model.mla.map_or(0.0, |_| f64::from(kinds.attention()));
        let recurrent = kinds.recurrent;
        let recurrent_layers = recurrent.map_or(0.0, |recurrent| f64::from(recurrent.layers));
        StepTime {
            launch: KernelLaunch::Graphs(512),
            linear_per_token: timing.linear * 2.0 * multiplied + touches * state,
            expert_linear_per_token: timing.linear * 2.0 * routed / own + expert_touches * state,
            output_per_sequence: timing.linear * 2.0 * model.output_parameters() / half,
            attention_per_pair: attention * full,
            windowed_attention_per_pair: attention * windowed,
            kv_per_token: kv * full,
            windowed_kv_per_token: kv * windowed,
            index_per_pair: timing.attention * index_flops / device.flops(Dtype::Fp8),
            index_per_token: timing.kv * index_bytes / device.bandwidth(),
            common_weights: timing.weights * weights.common_bytes / read,
            expert_weights: model.experts.map(|_| {
                let bytes = timing.weights * timing.expert_weights * weights.expert_bytes;
                let most = timing
                    .expert_read_gbs
                    .map_or(f64::INFINITY, |gbs| gbs * 1e9);
                let cards = device.bandwidth().min(most) * expert_cards;
                (model.clone(), bytes * imbalance / cards)
            }),
            tokens_at_experts: expert_cards / tensor,
            groups_experts: grouped.is_some(),
            window: match indexer {
                Some(indexer) => Some(indexer.top),
                None => model.sliding_window.filter(|_| kinds.windowed > 0),
            },
            // Read and written once for each token.
            state_per_sequence: recurrent.map_or(0.0, |recurrent| {
                2.0 * recurrent_layers * recurrent.state_bytes * timing.kv / read
            }),
            allreduce_per_token: timing.allreduce * rounds * moved / device.link(),
            allreduce_latency: rounds * timing.allreduce_us * 1e-6,
            all_to_all_per_token: exchanged * slower,
            exchange_per_token: by_library(timing.exchange) * exchanged / device.link(),
            stages: parallel.pipeline.max(1),
            hops_per_token: hops * f64::from(model.hidden) * 2.0 / device.link(),
            hops_latency: hops * timing.allreduce_us * 1e-6,
            layers,
            kinds_launch_us: f64::from(kinds.sparse) * timing.expert_launch_us
                + latent_layers * timing.latent_launch_us
                + recurrent_layers * timing.recurrent_launch_us,
            layers_us: layers * (timing.layer_us + narrowing_us)
                + f64::from(kinds.sparse)
                    * (timing.expert_layer_us
                        + narrowing_expert_us
                        + by_library(timing.exchange_layer_us))
                + latent_layers * timing.latent_layer_us
                + in_own_layers(timing.index_layer_us)
                + recurrent_layers * timing.recurrent_layer_us,
            layers_us_per_sequence: recurrent_layers * timing.recurrent_sequence_us,
            timing: timing.clone(),
        }
    }

    /// With kernels launched in another way than by graphs up to 512 tokens.
    pub fn launched(mut self, launch: KernelLaunch) -> StepTime {
        self.launch = launch;
        self
    }

    /// With a KV cache of another format than bfloat16.
    pub fn kv_dtype(mut self, dtype: Dtype) -> StepTime {
        let share = dtype.bytes() / Dtype::Bf16.bytes();
        self.kv_per_token *= share;
        self.windowed_kv_per_token *= share;
        self
    }

    /// Whether products of experts take another time, since a library brings tokens to them.
    pub fn groups_experts(&self) -> bool {
        self.groups_experts
    }

    /// What the API server costs beside the steps.
    pub fn api(&self) -> ApiCost {
        self.timing.api
    }

    /// Seconds to hand a prompt to another worker, beside its bytes.
    pub fn handover(&self) -> f64 {
        self.timing.handover_us * 1e-6
    }

    /// The tokens of a context that lie in the window of layers that have one.
    pub fn in_window(&self, context: u64) -> u64 {
        self.window
            .map_or(0, |window| context.min(u64::from(window)))
    }

    pub fn terms(&self, shape: &StepShape) -> Terms {
        let tokens = shape.prefill_tokens.saturating_add(shape.decode_tokens);
        let captured = match self.launch {
            KernelLaunch::Eager => None,
            KernelLaunch::DecodeGraphs(_) if shape.prefill_tokens > 0 => None,
            KernelLaunch::Graphs(most) | KernelLaunch::DecodeGraphs(most) => {
                (tokens <= most).then(|| captured_size(tokens).min(most))
            }
        };
        let padded = captured.unwrap_or(tokens);
        let launch_us = match (captured, self.launch) {
            (Some(_), _) => 0.0,
            (None, KernelLaunch::Eager) => {
                self.layers * self.timing.eager_layer_us + self.kinds_launch_us
            }
            (None, _) => self.layers * self.timing.launch_layer_us + self.kinds_launch_us,
        };
        let sequences = f64::from(shape.sequences);
        let experts = self.expert_weights.as_ref().map_or(0.0, |(model, each)| {
            model.touched_experts(f64::from(tokens) * self.tokens_at_experts) * each
        });
        let mut host_us = self.timing.step_us + sequences * self.timing.sequence_us;
        if shape.prefill_tokens > 0 {
            host_us += self.timing.prefill_us;
        }
        Terms {
            linear: f64::from(padded) * self.linear_per_token
                + sequences * self.output_per_sequence,
            attention: shape.prefill_pairs as f64 * (self.attention_per_pair + self.index_per_pair)
                + shape.prefill_pairs_in_window as f64 * self.windowed_attention_per_pair,
            weights: self.common_weights,
            expert_linear: f64::from(padded) * self.expert_linear_per_token,
            expert_weights: experts,
            kv: shape.decode_context as f64 * (self.kv_per_token + self.index_per_token)
                + shape.decode_context_in_window as f64 * self.windowed_kv_per_token
                + sequences * self.state_per_sequence,
            allreduce: f64::from(padded) * self.allreduce_per_token + self.allreduce_latency,
            all_to_all: f64::from(padded) * self.all_to_all_per_token
                + f64::from(shape.decode_tokens) * self.exchange_per_token,
            layers: (self.layers_us + sequences * self.layers_us_per_sequence) * 1e-6,
            launch: launch_us * 1e-6,
            host: host_us * 1e-6,
        }
    }

    pub fn seconds(&self, shape: &StepShape) -> f64 {
        let part = shape.part(self.stages.min(shape.sequences).max(1));
        let tokens = part.prefill_tokens.saturating_add(part.decode_tokens);
        let hops = f64::from(tokens) * self.hops_per_token + self.hops_latency;
        let terms = self.terms(&part);
        let both = |linear: f64, weights: f64| {
            linear + weights - self.timing.overlap * linear.min(weights)
        };
        let device = both(terms.linear, terms.weights)
            + both(terms.expert_linear, terms.expert_weights)
            + terms.attention
            + terms.kv
            + terms.allreduce
            + terms.all_to_all
            + terms.layers;
        device.max(terms.launch) + terms.host + hops
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step_time(model: &str, device: &str, tensor: u32) -> StepTime {
        let device = Device::named(device).unwrap();
        let parallel = Parallel::tensor(tensor);
        StepTime::new(
            &Model::named(model).unwrap(),
            device,
            &parallel,
            &Timing::shipped(device),
        )
    }

    fn decode(sequences: u32, context: u64) -> StepShape {
        StepShape {
            decode_tokens: sequences,
            decode_context: u64::from(sequences) * context,
            sequences,
            ..StepShape::default()
        }
    }

    fn prefill(tokens: u32) -> StepShape {
        StepShape {
            prefill_tokens: tokens,
            prefill_pairs: u64::from(tokens) * u64::from(tokens) / 2,
            sequences: 1,
            ..StepShape::default()
        }
    }

    #[test]
    fn every_model_on_every_device_takes_a_positive_time() {
        for model in Model::presets() {
            for device in Device::presets() {
                let timing = Timing::shipped(device);
                let time = StepTime::new(model, device, &Parallel::default(), &timing);
                for shape in [
                    decode(1, 1),
                    decode(256, 4096),
                    prefill(8192),
                    StepShape::default(),
                ] {
                    let seconds = time.seconds(&shape);
                    assert!(
                        seconds > 0.0 && seconds < 1000.0,
                        "{} {}: {seconds}",
                        model.name,
                        device.name
                    );
                }
            }
        }
    }

    #[test]
    fn a_single_stream_is_bound_by_reading_the_weights() {
        let time = step_time("llama-3.1-8b", "h100", 1);
        let terms = time.terms(&decode(1, 512));
        assert!(terms.weights > 10.0 * terms.linear);
        assert!(terms.weights > 0.5 * time.seconds(&decode(1, 512)));
    }

    #[test]
    fn replicas_that_share_experts_exchange_tokens_over_the_link() {
        let taken = |link_gbs: f64, tensor: u32, cards: u32| {
            let device = Device {
                link_gbs,
                ..Device::named("h200").unwrap().clone()
            };
            let parallel = Parallel {
                experts: ExpertGroup::Whole(cards),
                ..Parallel::tensor(tensor)
            };
            let model = Model::named("qwen3-235b-a22b").unwrap();
            let time = StepTime::new(&model, &device, &parallel, &Timing::shipped(&device));
            time.terms(&prefill(4096)).all_to_all
        };
        // 94 layers, 7 other cards of 8, 4096 numbers of 2 bytes, there and back.
        let bytes = 4096.0 * 94.0 * 7.0 * 4096.0 * 2.0 * 2.0;
        let expected = bytes * (1.0 / 64e9 - 1.0 / 450e9);
        assert!((taken(64.0, 1, 8) / expected - 1.0).abs() < 1e-9);
        assert!(taken(32.0, 1, 8) > 2.0 * taken(64.0, 1, 8));
        // On the links of the fit it is in the layers' time, and cards that share all have none.
        assert_eq!(taken(450.0, 1, 8), 0.0);
        assert_eq!(taken(32.0, 8, 8), 0.0);
    }

    #[test]
    fn experts_behind_a_library_are_multiplied_in_larger_products() {
        let device = Device::named("gb200").unwrap();
        let timing = Timing::fitted(device, crate::engine::EngineKind::Sglang);
        let linear = |timing: &Timing, grouped_experts| {
            let parallel = Parallel {
                experts: ExpertGroup::Whole(8),
                grouped_experts,
                ..Parallel::tensor(1)
            };
            let model = Model::named("deepseek-v3").unwrap();
            let time = StepTime::new(&model, device, &parallel, timing);
            assert_eq!(
                time.groups_experts(),
                grouped_experts && timing.grouped_expert_linear.is_some()
            );
            time.terms(&prefill(16_384)).expert_linear
        };
        assert!(linear(&timing, true) < 0.5 * linear(&timing, false));
        // What it takes to bring them there counts where few tokens are under way.
        let decoding = |grouped_experts| {
            let parallel = Parallel {
                experts: ExpertGroup::Whole(32),
                grouped_experts,
                ..Parallel::tensor(1)
            };
            let model = Model::named("deepseek-v3").unwrap();
            let time = StepTime::new(&model, device, &parallel, &timing);
            time.seconds(&decode(4, 1024))
        };
        assert!(decoding(true) > 1.3 * decoding(false));
        let unknown = Timing {
            grouped_expert_linear: None,
            ..timing
        };
        assert_eq!(linear(&unknown, true), linear(&unknown, false));
    }

    #[test]
    fn a_long_prompt_is_bound_by_arithmetic() {
        let time = step_time("llama-3.1-8b", "h100", 1);
        let terms = time.terms(&prefill(8192));
        assert!(terms.linear > 10.0 * terms.weights);
    }

    #[test]
    fn attention_grows_with_the_square_of_the_prompt() {
        let time = step_time("llama-3.1-8b", "h100", 1);
        let ratio = time.terms(&prefill(8192)).attention / time.terms(&prefill(4096)).attention;
        assert!((ratio - 4.0).abs() < 0.01, "{ratio}");
    }

    #[test]
    fn a_batch_is_padded_to_a_captured_size_and_pays_beyond_the_last() {
        assert_eq!(
            [1, 3, 9, 256, 257, 500].map(captured_size),
            [1, 4, 16, 256, 272, 512]
        );
        let time = step_time("qwen2-0.5b", "h100", 1).launched(KernelLaunch::Graphs(64));
        assert_eq!(time.terms(&decode(57, 0)).linear, {
            let terms = time.terms(&decode(64, 0));
            terms.linear - 7.0 * time.output_per_sequence
        });
        let jump = time.seconds(&decode(65, 512)) - time.seconds(&decode(64, 512));
        let smooth = time.seconds(&decode(64, 512)) - time.seconds(&decode(63, 512));
        assert!(jump > 5.0 * smooth, "{jump} {smooth}");
    }

    #[test]
    fn without_graphs_for_prompts_a_short_one_pays_for_the_launch_of_its_kinds_of_layers() {
        let device = Device::named("h200").unwrap();
        let launch = |model: &str, shape: &StepShape| {
            let timing = Timing::fitted(device, crate::engine::EngineKind::Sglang);
            let model = Model::named(model).unwrap();
            let time = StepTime::new(&model, device, &Parallel::tensor(8), &timing);
            let time = time.launched(KernelLaunch::DecodeGraphs(64));
            time.terms(shape).launch / f64::from(model.layers)
        };
        assert_eq!(launch("llama-3.1-8b", &decode(8, 512)), 0.0);
        let dense = launch("llama-3.1-8b", &prefill(16));
        assert!(dense > 0.0);
        assert!(launch("deepseek-v3", &prefill(16)) > 2.0 * dense);
    }

    #[test]
    fn attention_that_an_indexer_chooses_hardly_grows_with_the_context() {
        let chosen = step_time("glm-5", "h200", 8);
        let in_window = |context| StepShape {
            decode_context_in_window: 64 * chosen.in_window(context),
            ..decode(64, context)
        };
        let (near, far) = (
            chosen.terms(&in_window(2048)),
            chosen.terms(&in_window(32_768)),
        );
        let whole = Model {
            mla: Model::named("glm-5")
                .unwrap()
                .mla
                .map(|mla| crate::model::Mla {
                    indexer: None,
                    ..mla
                }),
            ..Model::named("glm-5").unwrap()
        };
        let device = Device::named("h200").unwrap();
        let timing = Timing::shipped(device);
        let whole = StepTime::new(&whole, device, &Parallel::tensor(8), &timing);
        // A short context is read whole, and the indexer's keys come on top.
        assert!(near.kv > whole.terms(&decode(64, 2048)).kv);
        assert!(far.kv < 0.3 * whole.terms(&decode(64, 32_768)).kv);
        let shape = in_window(32_768);
        assert!(chosen.clone().kv_dtype(Dtype::Fp8).terms(&shape).kv < far.kv);
    }

    #[test]
    fn experts_are_read_no_faster_by_a_card_with_more_bandwidth_than_their_kernels_use() {
        let reading = |device: &str| {
            let device = Device::named(device).unwrap();
            let timing = Timing::fitted(device, crate::engine::EngineKind::Vllm);
            let model = Model::named("gpt-oss-120b").unwrap();
            let time = StepTime::new(&model, device, &Parallel::tensor(2), &timing);
            time.terms(&decode(16, 512))
        };
        let (h100, h200) = (reading("h100"), reading("h200"));
        assert_eq!(h100.expert_weights, h200.expert_weights);
        assert!(h100.weights > 1.2 * h200.weights);
    }

    #[test]
    fn enforce_eager_costs_most_where_steps_are_short() {
        let graphs = step_time("qwen2.5-7b", "h100", 1);
        let eager = graphs.clone().launched(KernelLaunch::Eager);
        let factor = |shape: &StepShape| eager.seconds(shape) / graphs.seconds(shape);
        assert!(factor(&decode(1, 512)) > 1.5);
        assert!(factor(&prefill(8192)) < 1.05);
    }

    #[test]
    fn cards_share_the_work_and_pay_for_talking() {
        let one = step_time("qwen2.5-72b", "h100", 1).seconds(&decode(8, 512));
        let four = step_time("qwen2.5-72b", "h100", 4).seconds(&decode(8, 512));
        assert!(four < one / 2.0 && four > one / 4.0, "{one} {four}");
        // Without a fast link a large prefill hardly gains.
        let link = step_time("qwen2.5-7b", "l20", 4);
        assert!(link.terms(&prefill(4096)).allreduce > 0.3 * link.terms(&prefill(4096)).linear);
    }
}
