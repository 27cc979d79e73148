//! A prediction beside its measurement.

use super::labels::{brief, metric_text};
use inferometer_message::PlanText as Text;
use inferometer_page::doc::{Block, Cell, Column, Section, Table, Tone, Verdict};
use inferometer_plan::calibrate::Verified;
use inferometer_plan::means::{MeanMetric, Means};
use inferometer_plan::what_if::Prediction;
use inferometer_text::Lang;
use std::path::{Path, PathBuf};

pub struct Verification {
    pub record: Verified,
    pub predicted: Prediction,
    pub measured: Means,
    /// The run that was measured; none where it was computed.
    pub run: Option<PathBuf>,
}

pub fn earlier(record: &Verified, lang: Lang) -> Section {
    let errors = MeanMetric::all().filter_map(|metric| {
        let error = record.errors.get(metric.into_str())?;
        let metric = metric_text(metric).text(lang);
        Some(format!("{metric} {:+.0} %", error * 100.0))
    });
    let values = [
        ("at", record.at.clone()),
        ("on", record.on.clone().unwrap_or_else(|| "?".to_owned())),
        ("setting", record.setting.clone()),
        ("errors", errors.collect::<Vec<_>>().join(", ")),
    ];
    let block = if record.held() {
        Block::Paragraph(Text::LastHeld.with(lang, &values))
    } else {
        not_verified(Text::LastFailed.with(lang, &values), lang)
    };
    Section::plain([block])
}

fn not_verified(reason: String, lang: Lang) -> Block {
    Verdict::new(Text::NotVerified.text(lang), Tone::Bad, reason).into()
}

/// The document of a verification that was kept in a calibration's file.
pub fn section(verification: &Verification, file: &Path, lang: Lang) -> Section {
    let predicted = verification.predicted.figures();
    let rows = MeanMetric::all().filter_map(|metric| {
        let (predicted, measured) = (predicted.get(metric)?, verification.measured.get(metric)?);
        let error = predicted / measured - 1.0;
        let interval = verification.predicted.interval(metric, predicted, 1.0);
        let inside = interval.map(|[low, high]| (low..=high).contains(&measured));
        Some(vec![
            Cell::text(metric_text(metric).text(lang)),
            Cell::text(brief(predicted)),
            Cell::text(brief(measured)),
            Cell::text(format!("{:+.1} %", error * 100.0)),
            match inside {
                Some(true) => Cell::Toned(Text::WithinBound.text(lang).to_owned(), Tone::Good),
                Some(false) => Cell::Toned(Text::BeyondBound.text(lang).to_owned(), Tone::Bad),
                None => Cell::Absent,
            },
        ])
    });
    let counterpart = match verification.run {
        Some(_) => Text::Measured,
        None => Text::Simulated,
    };
    let table = Table::new(
        vec![
            Column::left(Text::Metric.text(lang)),
            Column::right(Text::Predicted.text(lang)),
            Column::right(counterpart.text(lang)),
            Column::right(Text::Error.text(lang)),
            Column::left(Text::Interval.text(lang)),
        ],
        rows,
    );
    let kept = Text::VerifiedKept.with(lang, &[("file", file.display().to_string())]);
    let mut blocks = vec![Block::Table(table), Block::Paragraph(kept)];
    let how = match &verification.run {
        Some(run) => Text::VerifiedRun.with(lang, &[("run", run.display().to_string())]),
        None => Text::VerifiedSimulated.text(lang).to_owned(),
    };
    blocks.push(Block::Paragraph(how));
    if !verification.record.held() {
        let far = verification
            .predicted
            .far_off(&verification.measured)
            .into_iter();
        let far = far.map(|metric| metric_text(metric).text(lang));
        let far = far.collect::<Vec<_>>().join(", ");
        let reason = Text::FarOff.with(lang, &[("metrics", far)]);
        blocks.insert(0, not_verified(reason, lang));
        return Section::headed(Text::NotVerified.text(lang), blocks);
    }
    Section::headed(Text::Verified.text(lang), blocks)
}
