//! What the figures of a study draw.

use super::*;
use inferometer_page::figure::{Colour, Figure, Scale, Shape};
use inferometer_report::study::figures;

fn sample(objectives: usize) -> Sample {
    let row = |id: u64, seqs: i64, mode: &str, state, figure: Option<f64>| TrialRow {
        flags: match id {
            0 => Point::default(),
            _ => [
                ("max-num-seqs", Value::Int(seqs)),
                ("mode", Value::Text(mode.into())),
            ]
            .into_iter()
            .collect(),
        },
        objectives: vec![figure; objectives],
        ..trial(id, Origin::Search, state, figure)
    };
    let mut study: Study = STUDY.parse().unwrap();
    let objective = study.goal.objectives[0].clone();
    study.goal.objectives = vec![objective; objectives];
    let mut result = StudyResult {
        trials: vec![
            row(0, 0, "", State::Done, Some(100.0)),
            row(1, 16, "on", State::Done, Some(90.0)),
            row(2, 1024, "off", State::Done, Some(140.0)),
            row(3, 512, "off", State::Crashed, None),
        ],
        pareto: vec![2],
        importance: Vec::new(),
        ..study.result(&[], false)
    };
    result.trials[0].origin = Origin::Default;
    Sample { study, result }
}

fn drawn(objectives: usize) -> Vec<Figure> {
    figures(&sample(objectives).report(Lang::En))
}

fn named<'a>(figures: &'a [Figure], id: &str) -> &'a Figure {
    figures.iter().find(|figure| figure.id == id).unwrap()
}

#[test]
fn the_history_shows_the_best_until_then_and_the_failures() {
    let figures = drawn(1);
    let panel = &named(&figures, "study-history").panels[0];
    let best = panel.series.iter().find_map(|series| match &series.shape {
        Shape::Step(points) => Some(points.clone()),
        _ => None,
    });
    assert_eq!(best.unwrap(), [[0.0, 100.0], [2.0, 140.0], [3.0, 140.0]]);
    let failed = panel.series.iter().find(|it| it.colour == Colour::Bad);
    assert!(failed.is_some_and(|it| !it.shape.is_empty()));
}

#[test]
fn each_flag_has_a_slice_on_a_scale_that_fits_its_values() {
    let figures = drawn(1);
    let panels = &named(&figures, "study-slices").panels;
    assert_eq!(panels[0].x.scale, Scale::Log);
    let words = vec!["off".to_owned(), "on".to_owned()];
    assert_eq!(panels[1].x.scale, Scale::Category(words));
    assert_eq!(panels[0].marks[0].at, 100.0, "the default to compare with");
}

#[test]
fn a_line_goes_through_all_flags_to_the_figure() {
    let figures = drawn(1);
    let panel = &named(&figures, "study-parallel").panels[0];
    let best = panel.series.iter().find(|it| it.colour == Colour::Nth(0));
    let Shape::Line(samples) = &best.unwrap().shape else {
        panic!("lines");
    };
    let heights: Vec<Option<f64>> = samples.iter().map(|sample| sample.y).collect();
    assert_eq!(heights, [Some(1.0), Some(0.0), Some(1.0)]);
}

#[test]
fn the_front_draws_apart_what_missed_the_slo() {
    let mut sample = sample(2);
    sample.result.trials[1].violation = Some(0.1);
    let figures = figures(&sample.report(Lang::En));
    let panel = &named(&figures, "study-front").panels[0];
    let count = |name: &str| {
        let series = panel.series.iter().find(|series| series.name == name);
        match &series.unwrap().shape {
            Shape::Scatter(samples) => samples.len(),
            _ => 0,
        }
    };
    assert_eq!((count("SLO missed"), count("done")), (1, 2));
}

#[test]
fn only_several_objectives_have_a_front() {
    let of = |objectives| {
        let figures = drawn(objectives);
        figures.iter().any(|figure| figure.id == "study-front")
    };
    assert!(!of(1) && of(2));
}
