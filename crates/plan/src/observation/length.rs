//! The longest request of a server whose flags nobody tells.

use super::Observation;
use crate::flags::value;
use crate::predict::Subject;
use inferometer_catalog::memory::MemoryError;
use inferometer_catalog::timing::Timing;
use inferometer_sim::launch::LaunchError;

const FLAG: &str = "max-model-len";

/// A server that was measured did start. Where its longest request is not known and the model's
/// own does not fit on the card, the longest that fits is assumed, and returned.
pub fn assume_longest_request(subject: &Subject, observations: &mut [Observation]) -> Option<u64> {
    let mut least = None;
    let unknown = |observation: &&mut Observation| value(&observation.flags, FLAG).is_none();
    for observation in observations.iter_mut().filter(unknown) {
        let subject = Subject {
            version: subject.version.or(observation.version),
            ..subject.clone()
        };
        let started = subject.start(&observation.flags, &Timing::shipped(&subject.device));
        if let Err(LaunchError::Memory(MemoryError::TooLong { fits, .. }, _)) = started
            && fits > 0
        {
            let length = (FLAG.to_owned(), Some(fits.to_string()));
            observation.flags.push(length);
            least = Some(least.map_or(fits, |least: u64| least.min(fits)));
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::given;
    use crate::means::Means;
    use crate::work::Load;
    use inferometer_catalog::device::Device;
    use inferometer_catalog::engine::EngineKind;
    use inferometer_catalog::model::Model;

    fn assumed(device: &str, flags: &[(&str, &str)]) -> (Option<u64>, Observation) {
        let subject = Subject {
            model: Model::named("qwen1.5-7b").unwrap(),
            device: Device::named(device).unwrap().clone(),
            cards: 8,
            engine: EngineKind::Vllm,
            version: None,
            split: None,
        };
        let mut observations = [Observation {
            flags: given(flags),
            ..Observation::imported("a column".to_owned(), Load::Closed(8), Means::default())
        }];
        let found = assume_longest_request(&subject, &mut observations);
        let [observation] = observations;
        (found, observation)
    }

    #[test]
    fn a_small_card_that_was_measured_had_shorter_requests() {
        let (found, observation) = assumed("910b4", &[]);
        let length = found.unwrap();
        assert!((8_192..32_768).contains(&length), "{length}");
        assert_eq!(
            value(&observation.flags, FLAG),
            Some(length.to_string().as_str())
        );
        let again = assumed("910b4", &[(FLAG, &length.to_string())]);
        assert_eq!(again.0, None);
    }

    #[test]
    fn nothing_is_assumed_where_all_fits_or_the_length_is_given() {
        assert_eq!(assumed("a100-80g", &[]).0, None);
        let (found, observation) = assumed("910b4", &[(FLAG, "32768")]);
        assert_eq!((found, observation.flags.len()), (None, 1));
    }
}
