//! How a command divides its model among cards, and how many cards it takes.

use super::{EngineKind, LaunchCommand, ResolvedFlags, name_for};

/// How a model is divided among cards; every size is at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallelism {
    /// Cards that share each layer.
    pub tensor: u32,
    /// Groups of cards that hold consecutive layers.
    pub pipeline: u32,
    /// Copies that serve requests of their own.
    pub replicas: u32,
    /// Under SGLang's `--enable-dp-attention` the replicas divide the tensor-parallel cards among
    /// them, instead of having cards of their own.
    pub replicas_share_cards: bool,
}

impl Parallelism {
    /// Cards of all replicas together.
    pub fn cards(self) -> u64 {
        let replicas = if self.replicas_share_cards {
            1
        } else {
            self.replicas
        };
        [self.pipeline, replicas]
            .into_iter()
            .fold(u64::from(self.tensor), |cards, size| {
                cards.saturating_mul(u64::from(size))
            })
    }
}

impl LaunchCommand {
    /// As its flags say; sizes that cannot be read count as 1.
    pub fn parallelism(&self) -> Parallelism {
        let size = |name| {
            let given = self.flag(name_for(self.engine, name));
            let size = given.and_then(|given| given.value()?.parse::<u32>().ok());
            size.unwrap_or(1).max(1)
        };
        let is_on = |name| self.flag(name).is_some_and(|given| given.on);
        let tensor = size("tensor-parallel-size");
        // TensorRT-LLM's replicas are the cards that would share a layer.
        let apart = self.engine == EngineKind::Trtllm && is_on("enable_attention_dp");
        Parallelism {
            tensor: if apart { 1 } else { tensor },
            pipeline: size("pipeline-parallel-size"),
            replicas: if apart {
                tensor
            } else {
                size("data-parallel-size")
            },
            replicas_share_cards: self.engine == EngineKind::Sglang && is_on("enable-dp-attention"),
        }
    }
}

impl ResolvedFlags {
    pub fn parallelism(&self) -> Parallelism {
        Parallelism {
            tensor: self.tensor_parallel.max(1),
            pipeline: self.pipeline_parallel.max(1),
            replicas: self.data_parallel.max(1),
            replicas_share_cards: self.engine == EngineKind::Sglang
                && self.is_on("enable-dp-attention"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::engine::{DeviceClass, ModelLimits, resolve};
    use crate::model::Model;

    #[test]
    fn a_command_takes_the_same_cards_before_and_after_it_is_resolved() {
        let sglang = "python -m sglang.launch_server --model-path m";
        for (line, cards) in [
            ("vllm serve m".to_owned(), 1),
            ("vllm serve m -tp 2 -pp 2 -dp 3".to_owned(), 12),
            ("vllm serve m --data-parallel-size=4".to_owned(), 4),
            (format!("{sglang} --tp 4 --dp-size 2"), 8),
            (format!("{sglang} --tp 4 --dp 4 --enable-dp-attention"), 4),
            ("trtllm-serve m --tp_size 4 --pp_size 2".to_owned(), 8),
            (
                "trtllm-serve m --tp_size 4 --enable_attention_dp".to_owned(),
                4,
            ),
            ("mindieservice_daemon".to_owned(), 1),
        ] {
            let command = LaunchCommand::parse_line(&line).unwrap();
            assert_eq!(command.parallelism().cards(), cards, "{line}");
            if command.engine == EngineKind::Mindie {
                continue;
            }
            let class = DeviceClass::of(Device::named("h100").unwrap(), 64);
            let limits = ModelLimits::of(&Model::named("qwen2.5-7b").unwrap());
            let flags = resolve(&command, command.engine.newest(), &class, &limits).unwrap();
            assert_eq!(flags.parallelism(), command.parallelism(), "{line}");
        }
    }
}
