//! What an engine's own measure of a card finds beside weights and activations.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::engine::Version;

/// How an engine takes the measure of a card before it sizes the cache.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Profile {
    /// Context and libraries of a card that serves alone, GiB.
    pub context_gib: f64,
    /// What communication adds over NVLink, GiB.
    pub nvlink_gib: f64,
    /// Numbers of 32 bits for each sequence and entry of the vocabulary while tokens are drawn.
    pub sampler_numbers: f64,
    /// Whether CUDA graphs are taken off the share; else they come out of what it leaves.
    pub counts_graphs: bool,
    /// MB for each captured graph; absent: by the layers.
    pub graph_mb: Option<f64>,
    /// Whether the buffers of the experts stay while tokens are drawn.
    pub keeps_workspace: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    since: Vec<Since>,
}

/// A profile and the first version that has it.
#[derive(Deserialize)]
struct Since {
    version: Version,
    #[serde(flatten)]
    profile: Profile,
}

/// Oldest first.
static OF_VLLM: LazyLock<Vec<Since>> = LazyLock::new(|| {
    let listed: Listed = toml::from_str(include_str!("../../data/engine/vllm_memory.toml"))
        .expect("the shipped profiles parse");
    listed.since
});

impl Profile {
    pub fn of_vllm(version: Version) -> Profile {
        let mut newest_first = OF_VLLM.iter().rev();
        let since = newest_first.find(|since| since.version <= version);
        since.map_or_else(Profile::default, |since| since.profile)
    }
}

impl Default for Profile {
    /// That of an engine whose habits are not known: logits and probabilities while it draws, and
    /// vLLM's own figures of Llama-3-8B for communication, 3.58 GiB on two H100 and 1.79 GiB on one
    /// (pull request 10511).
    fn default() -> Profile {
        Profile {
            context_gib: 0.15,
            nvlink_gib: 1.79,
            sampler_numbers: 2.0,
            counts_graphs: true,
            graph_mb: None,
            keeps_workspace: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_the_habits_of_the_last_change_before_it() {
        let of = |minor, patch| Profile::of_vllm(Version::new(0, minor, patch));
        assert_eq!(of(6, 3), of(2, 0));
        assert!(of(6, 3).context_gib > of(6, 4).context_gib);
        assert!(of(16, 0).sampler_numbers > 3.0 * of(17, 0).sampler_numbers);
        assert!(!of(12, 0).keeps_workspace && of(13, 0).keeps_workspace);
        assert!(!of(19, 1).counts_graphs && of(20, 0).counts_graphs);
        assert_eq!(of(20, 0), of(99, 0));
    }

    #[test]
    fn profiles_stand_in_the_order_of_their_versions() {
        assert!(OF_VLLM.is_sorted_by_key(|since| since.version));
    }
}
