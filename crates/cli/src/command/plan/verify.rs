//! `plan what-if --verify`: measures the recommended setting and keeps the error.

use super::calibration_file::write;
use crate::folder::new_folder;
use crate::progress::Progress;
use crate::session::session;
use crate::signals::interrupt_on_signals;
use anyhow::{Context, bail};
use inferometer_core::environment::EndCause;
use inferometer_core::length::LengthSpec;
use inferometer_core::options::{Count, Options, OutputSpec};
use inferometer_core::scenario::{Hold, Rate, Stagger, Warmup};
use inferometer_core::units::Span;
use inferometer_load::instrument::Control;
use inferometer_plan::calibrate::{Calibration, Verified};
use inferometer_plan::means::Means;
use inferometer_plan::observation::{Assumed, read_sources};
use inferometer_plan::what_if::{Answers, Outcome, on_simulated};
use inferometer_plan::work::{Load, Start, Work};
use inferometer_plan_report::labels::setting_text;
use inferometer_plan_report::verification::Verification;
use inferometer_runner::host;
use inferometer_runner::measure::{Point, PrefixCache};
use inferometer_runner::servers::Servers;
use inferometer_text::Lang;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// Where the recommended setting is measured.
#[derive(Clone, Debug)]
pub enum Bench {
    /// On the simulated engine, in virtual time, with noise.
    Simulated,
    /// On a server that was started with the recommended flags.
    Server(String),
}

impl FromStr for Bench {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "sim" => Bench::Simulated,
            url => Bench::Server(url.to_owned()),
        })
    }
}

impl Bench {
    /// Its name in the record: of an address the server alone, without what may be secret.
    fn recorded(&self) -> String {
        match self {
            Bench::Simulated => "sim".to_owned(),
            Bench::Server(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
                let server = rest.split(['/', '?', '#']).next().unwrap_or_default();
                let (_, server) = server.rsplit_once('@').unwrap_or(("", server));
                format!("{scheme}://{server}")
            }
        }
    }
}

/// Measures the recommended setting and appends the error to the calibration's file.
pub fn verify(
    bench: &Bench,
    file: &Path,
    calibration: &mut Calibration,
    answers: &Answers,
    lang: Lang,
) -> anyhow::Result<Verification> {
    let Some((setting, Outcome::Predicted(predicted))) =
        answers.recommended.map(|index| &answers.settings[index])
    else {
        bail!("--verify has nothing to measure: no setting is recommended");
    };
    let (measured, run) = match bench {
        Bench::Simulated => (on_simulated(calibration, setting, &predicted.work)?, None),
        Bench::Server(_) if predicted.work.trace.is_some() => {
            bail!("--verify URL draws its lengths; leave out --data, or use --verify sim")
        }
        Bench::Server(url) => {
            let folder = measured_run(url, &predicted.work, lang)?;
            (figures(&folder)?, Some(folder))
        }
    };
    let said = setting_text(setting, predicted.work.load, Lang::En);
    let on = bench.recorded();
    let record = Verified::new(host::now(), said, on, predicted, &measured);
    calibration.verified.push(record.clone());
    write(file, calibration).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(Verification {
        record,
        predicted: (**predicted).clone(),
        measured,
        run,
    })
}

/// Sends the work of a prediction to a server and keeps the run.
fn measured_run(url: &str, work: &Work, lang: Lang) -> anyhow::Result<PathBuf> {
    let mut options = Options::default();
    options.run.label = Some("verify".to_owned());
    options.connection.url = Some(vec![url.to_owned()]);
    match work.load {
        Load::Closed(streams) => {
            options.load.concurrency = Some(Count(u64::from(streams)));
            options.load.stagger = Some(match work.start {
                Start::AtOnce => Stagger::None,
                Start::Spread => Stagger::Auto,
                Start::Over(span) => Stagger::Over(Span(Duration::from_nanos(span))),
            });
            if work.start != Start::Spread {
                // A prediction of a burst is held against a burst.
                options.load.warmup = Some(Warmup::Requests(0));
                options.load.hold = Some(Hold::None);
            }
        }
        Load::Open(rate) => options.load.rate = Some(Rate(rate)),
    }
    options.load.requests = Some(Count(u64::from(work.requests)));
    options.work.input_tokens = Some(LengthSpec::Drawn(work.input));
    options.work.output_tokens = Some(OutputSpec::Tokens(LengthSpec::Drawn(work.output)));
    let mut progress = Progress::new(false, lang);
    let session = session(lang)?;
    let point = Point::prepare(options, PrefixCache::Kept, &session, &mut progress)?;
    let out = new_folder(Some("verify"), "run");
    let control = Control::default();
    interrupt_on_signals(control.clone())?;
    let measured = Servers::of_others(session).measure(point, &out, &control, &mut progress);
    progress.end();
    let measured = measured?;
    if measured.ending.cause == EndCause::Signal {
        bail!("the measurement was interrupted, and nothing is recorded");
    }
    Ok(measured.directory.path().to_owned())
}

/// The figures of a valid run.
fn figures(folder: &Path) -> anyhow::Result<Means> {
    let points = read_sources(&[folder], &Assumed::default())?;
    let point = points.first().context("the run has no figures")?;
    if !point.invalid.is_empty() {
        bail!(
            "the run {} is not valid ({}), and nothing is recorded",
            folder.display(),
            point.invalid.join(", ")
        );
    }
    Ok(point.figures)
}

/// An earlier verification, for programs.
pub fn last_verified(record: &Verified) -> Value {
    json!({
        "at": record.at,
        "setting": record.setting,
        "on": record.on,
        "held": record.held(),
        "errors": record.errors,
    })
}

/// A verification, for programs.
pub fn json(verification: &Verification) -> Value {
    let mut all = last_verified(&verification.record);
    all["run"] = json!(verification.run);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_names_the_server_without_secrets() {
        let recorded = |text: &str| text.parse::<Bench>().unwrap().recorded();
        assert_eq!(recorded("sim"), "sim");
        let url = "http://user:secret@10.0.0.7:8000/v1?key=secret";
        assert_eq!(recorded(url), "http://10.0.0.7:8000");
    }
}
