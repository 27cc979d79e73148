//! What is drawn of a comparison.

use super::CompareReport;
use inferometer_chart::compared_runs::{self, ComparedRuns};
use inferometer_chart::ratios;
use inferometer_chart::side_name::{labels, told_apart};
use inferometer_message::FigureText;
use inferometer_page::figure::Figure;
use inferometer_text::punctuation::PunctuationText;
use std::collections::BTreeMap;

/// Every figure of a comparison, in reading order: the sides over the loads, their ratios, and
/// their requests.
pub fn figures(report: &CompareReport<'_>) -> Vec<Figure> {
    let labels = told_apart(labels(report.groups));
    let names = report.groups.iter().map(|group| group.name.clone());
    let names: BTreeMap<String, String> = names.zip(labels.iter().cloned()).collect();
    let computed = computed(report, &labels);
    let groups = report.groups.iter().zip(labels);
    let sides: Vec<ComparedRuns<'_>> = groups
        .map(|(group, label)| ComparedRuns {
            label,
            runs: &group.runs,
        })
        .collect();
    let mut figures = compared_runs::overlays(&sides, report.lang);
    figures.push(ratios::ratios(report.comparison, &names, report.lang));
    figures.extend(compared_runs::distributions(&sides, report.lang));
    for figure in &mut figures {
        figure.footnotes.extend(computed.clone());
    }
    figures
}

/// Which sides were not measured.
fn computed(report: &CompareReport<'_>, labels: &[String]) -> Option<String> {
    let sides = report.groups.iter().zip(labels);
    let sides = sides.filter(|(group, _)| group.runs.iter().any(|run| run.definition.computed));
    let sides: Vec<&str> = sides.map(|(_, label)| label.as_str()).collect();
    let lang = report.lang;
    match sides.len() {
        0 => None,
        all if all == labels.len() => Some(FigureText::Computed.text(lang).to_owned()),
        _ => {
            let sides = PunctuationText::Comma.join(lang, &sides);
            Some(FigureText::ComputedSides.with(lang, &[("sides", sides)]))
        }
    }
}
