//! How good the intervals of `tune`'s gains are: 2,000 last stages on each of several made-up
//! engines whose gains are known. `bench/gains` shows it on the simulated engine.

use std::io::Write;

#[path = "../tests/suite/gains.rs"]
mod gains;

const STUDIES: u64 = 2000;

fn main() {
    let mut out = std::io::stdout();
    let mut say = |line: String| writeln!(out, "{line}").expect("stdout");
    say("| engine | coverage of 95 % intervals | half-width | spread of studies | ratio |\n| --- | --- | --- | --- | --- |".to_owned());
    for noise in &gains::NOISES {
        let figures = gains::repeated_studies(noise, STUDIES);
        say(format!(
            "| {} | {:.1} % | ± {:.2} % | ± {:.2} % | {:.2} |",
            noise.name,
            100.0 * figures.coverage,
            100.0 * figures.half_width,
            100.0 * figures.spread,
            figures.width_ratio()
        ));
    }
}
