//! What users bring as prompts.

use super::Scratch;
use crate::seeds;
use inferometer_core::length::LengthSpec;
use inferometer_core::work::{DataFormat, DataSource, LengthPairs};
use inferometer_workload::data::{DataError, Surveyor, detect, to_custom};
use inferometer_workload::tokenizer::Bytes;
use inferometer_workload::{PairSampler, Sampler};
use strum::VariantArray as _;
use xxhash_rust::xxh3::xxh3_64;

pub fn sets() -> Vec<Vec<u8>> {
    let mut all = seeds::files("fixtures/data", &[".csv", ".json", ".jsonl", ".txt"]);
    all.extend(seeds::literals("crates/workload/src/data", 30));
    all
}

pub fn lengths() -> Vec<Vec<u8>> {
    let texts = [
        "512\n1024 3\n16,2\n",
        "512,128\n4096,64,2.5\n",
        "# tokens weight\n1 0.5\n2\t1e3\n",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

pub fn read(input: &[u8], scratch: &Scratch) -> bool {
    let path = scratch.file("data", input);
    let found = detect(&path, None).ok();
    // One that was not found, too: users may insist.
    let formats = DataFormat::VARIANTS;
    let other = formats[(xxh3_64(input) % formats.len() as u64) as usize];
    let mut usable = 0;
    for format in [found, Some(other)].into_iter().flatten() {
        let data = DataSource {
            location: "data".to_owned(),
            format: Some(format),
            skip_bad: true,
            ..DataSource::default()
        };
        let surveyor = Surveyor {
            data: &data,
            path: &path,
            seed: 0,
            tokenizer: &Bytes,
            tokenizer_given: false,
            all_rows: false,
        };
        let survey = surveyor.run::<DataError>(
            |taken| {
                to_custom(taken.row, taken.output_tokens);
                Ok(())
            },
            |_| {},
        );
        if let Ok(survey) = survey {
            let _ = serde_json::to_string(&survey);
            usable += survey.rows.usable;
        }
    }
    usable > 0
}

pub fn read_lengths(input: &[u8], scratch: &Scratch) -> bool {
    let path = scratch.file("lengths", input);
    let histogram: Result<LengthSpec, _> = format!("histogram({})", path.display()).parse();
    let histogram = histogram.map(|spec| Sampler::new(&spec).map(|sampler| sampler.bounds()));
    let pairs: Result<LengthPairs, _> = path.display().to_string().parse();
    let pairs = pairs.map(|spec| PairSampler::new(&spec).map(|sampler| sampler.input_bounds()));
    matches!(histogram, Ok(Ok(_))) || matches!(pairs, Ok(Ok(_)))
}
