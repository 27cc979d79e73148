//! The proof of the default searcher and of a profile as its prior: landscapes from the simulated
//! engine, and searches on them. `bench/tune` runs it beside Optuna.
//!
//! ```text
//! landscapes make proof|narrow|others FOLDER
//! landscapes guess proof|narrow|others FOLDER      what profiles expect of them
//! landscapes search FOLDER SEEDS TRIALS     one JSON object a line; seeds as in 0..20
//! landscapes reach FOLDER SEEDS              median trials to 95 % of the optimum
//! landscapes prior FOLDER SEEDS             trials with the guesses and without
//! ```

#[path = "../../tests/suite/landscape/mod.rs"]
mod landscape;

#[path = "../../tests/suite/guess.rs"]
mod guess;

#[path = "../../tests/suite/wrong.rs"]
mod wrong;

mod narrow;
mod others;
mod prior;
mod search;

use inferometer_catalog::device::Device;
use inferometer_catalog::timing::Timing;
use landscape::Landscape;
use landscape::test_bed::{TEST_BEDS, TestBed};
use narrow::NARROW;
use others::OTHERS;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::path::{Path, PathBuf};
use wrong::{WRONG, off_by_thirty_percent};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["make", which, folder] => make(test_beds(which), Path::new(folder)),
        ["guess", which, folder] => guess(test_beds(which), Path::new(folder)),
        ["search", folder, seeds, trials] => search::print(
            Path::new(folder),
            range(seeds),
            trials.parse().expect("a number of trials"),
        ),
        ["reach", folder, seeds] => search::print_reach(Path::new(folder), range(seeds)),
        ["prior", folder, seeds] => prior::print(Path::new(folder), range(seeds)),
        _ => panic!("landscapes make|guess|search|reach|prior …, as the head of the source says"),
    }
}

fn test_beds(which: &str) -> &'static [TestBed] {
    match which {
        "proof" => &TEST_BEDS,
        "narrow" => &NARROW,
        "others" => &OTHERS,
        _ => panic!("'{which}' is none of proof, narrow and others"),
    }
}

fn range(seeds: &str) -> Range<u64> {
    let (first, end) = seeds.split_once("..").expect("seeds such as 0..20");
    first.parse().expect("a seed")..end.parse().expect("a seed")
}

fn make(test_beds: &[TestBed], folder: &Path) {
    std::fs::create_dir_all(folder).expect("the folder can be made");
    for test_bed in test_beds {
        let made = test_bed.landscape(test_bed.flags());
        let text = serde_json::to_string(&made).expect("plain data");
        std::fs::write(folder.join(file_name(test_bed)), text).expect("the folder can be written");
    }
}

/// For each landscape of the folder what a right profile expects of it, and what wrong ones do.
fn guess(test_beds: &[TestBed], folder: &Path) {
    std::fs::create_dir_all(guesses(folder)).expect("the folder can be made");
    for test_bed in test_beds {
        let own = Timing::shipped(Device::named(test_bed.device).expect("a preset"));
        let wrong = WRONG.map(|signs| off_by_thirty_percent(&own, signs));
        let all: Vec<Landscape> = (std::iter::once(own).chain(wrong))
            .map(|timing| guess::guessed(test_bed, test_bed.flags(), timing))
            .collect();
        let text = serde_json::to_string(&all).expect("plain data");
        let file = guesses(folder).join(file_name(test_bed));
        std::fs::write(file, text).expect("the folder can be written");
    }
}

fn file_name(test_bed: &TestBed) -> String {
    let TestBed {
        model,
        device,
        cards,
        ..
    } = test_bed;
    format!("{model}-{cards}x{device}.json")
}

fn guesses(folder: &Path) -> PathBuf {
    folder.join("guesses")
}

/// The landscapes of a folder, by the names of their files.
fn landscapes(folder: &Path) -> Vec<(String, Landscape)> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.into_string().expect("plain names"));
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".json")).collect();
    names.sort();
    let read = |name: String| (name.clone(), read(&folder.join(name)));
    names.into_iter().map(read).collect()
}

fn read<T: DeserializeOwned>(file: &Path) -> T {
    let text = std::fs::read_to_string(file).expect("the file can be read");
    serde_json::from_str(&text).expect("as it was written")
}
