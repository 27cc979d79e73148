//! The figures of a study: its history, each flag by itself, all flags together, and the front
//! of several objectives.

use super::flag_axis::{FlagAxis, ends, share_of_range};
use super::{StudyReport, is_failure, is_repeat, outcome};
use inferometer_campaign::study::{Direction, TrialRow};
use inferometer_campaign::trial::Origin;
use inferometer_chart::measured::distinct;
use inferometer_chart::metric_name::name_and_unit;
use inferometer_message::{FigureText, StudyText};
use inferometer_page::figure::{
    Axis, Colour, Figure, Mark, MarkKind, On, Panel, Sample, Scale, Series, Shape,
};
use inferometer_page::number;

/// Most flags with a panel of their own, the most important ones.
const MOST_SLICES: usize = 9;
/// Most trials with a line through all flags.
const MOST_LINES: usize = 400;
/// From this ratio of the largest to the least value on, an objective is drawn by ratio.
const WIDE: f64 = 10.0;
/// Where the least and the greatest value of a flag are written.
const FOOT: f64 = -0.07;
const TOP: f64 = 1.07;

pub fn figures(report: &StudyReport<'_>) -> Vec<Figure> {
    let study = StudyCharts { report };
    let figures = [
        Some(study.history()),
        study.slices(),
        study.parallel(),
        study.front(),
    ];
    figures.into_iter().flatten().collect()
}

struct StudyCharts<'a> {
    report: &'a StudyReport<'a>,
}

impl StudyCharts<'_> {
    fn say(&self, text: StudyText) -> String {
        text.text(self.report.lang).to_owned()
    }

    fn trials(&self) -> impl Iterator<Item = &TrialRow> {
        self.report.result.trials.iter()
    }

    /// Trials that chose a configuration, fresh starts of earlier ones left out.
    fn searched(&self) -> impl Iterator<Item = &TrialRow> {
        self.trials().filter(|trial| !is_repeat(trial))
    }

    fn objective(&self, scale: Scale) -> Axis {
        let first = self.report.objectives().first();
        self.measure(first.map_or("", |objective| &objective.path), scale)
    }

    /// An axis of what stands at a place of the summary, by its name where it has one.
    fn measure(&self, path: &str, scale: Scale) -> Axis {
        let (name, unit) = name_and_unit(path, self.report.lang);
        Axis::new(name, unit, scale)
    }

    fn is_better(&self, a: f64, b: f64) -> bool {
        match self.report.objectives().first().map(|it| it.direction) {
            Some(Direction::Minimize) => a < b,
            _ => a > b,
        }
    }

    fn drawn<const N: usize>(&self, series: [(StudyText, Colour, Shape); N]) -> Vec<Series> {
        (series.into_iter())
            .filter(|(.., shape)| !shape.is_empty())
            .map(|(name, colour, shape)| Series::new(self.say(name), colour, shape))
            .collect()
    }

    fn panel(&self, title: &str, x: Axis, y: Axis, series: Vec<Series>) -> Panel {
        Panel {
            title: title.to_owned(),
            x,
            y,
            series,
            when_empty: FigureText::NoData.text(self.report.lang).to_owned(),
            ..Panel::default()
        }
    }

    fn figure(&self, id: &str, title: StudyText, panels: Vec<Panel>) -> Figure {
        Figure::new(id, self.say(title), panels, Vec::new())
    }

    /// The default's figure as a line to compare with.
    fn default_mark(&self) -> Option<Mark> {
        let default = self
            .trials()
            .find(|trial| trial.origin == Origin::Default)?;
        Some(Mark::new(
            On::Y,
            first_figure(default)?,
            self.say(StudyText::Default),
            MarkKind::Reference,
        ))
    }

    /// The objective over the trials, with the best until then.
    fn history(&self) -> Figure {
        let at = |trial: &TrialRow, y: Option<f64>| Sample::new(trial.id as f64, y);
        let of = |state: StudyText| {
            let found = self.searched().filter(|it| outcome(it) == state);
            let samples = found.map(|trial| at(trial, first_figure(trial)));
            Shape::Scatter(samples.collect())
        };
        let mut best: Vec<[f64; 2]> = Vec::new();
        for trial in self.searched().filter(|it| outcome(it) == StudyText::Done) {
            if let Some(now) = first_figure(trial)
                && best.last().is_none_or(|last| self.is_better(now, last[1]))
            {
                best.push([trial.id as f64, now]);
            }
        }
        let last = self.searched().map(|trial| trial.id as f64).last();
        if let (Some(&[_, value]), Some(last)) = (best.last(), last) {
            best.push([last, value]);
        }
        let failed = self.searched().filter(|trial| is_failure(trial));
        let repeats = self.trials().filter(|trial| is_repeat(trial));
        let repeats = repeats.map(|trial| at(trial, first_figure(trial)));
        let floor = self.floor();
        let failed = failed.map(|trial| at(trial, floor));
        let series = self.drawn([
            (StudyText::BestSoFar, Colour::Quiet, Shape::Step(best)),
            (
                StudyText::SloMissed,
                Colour::Nth(1),
                of(StudyText::SloMissed),
            ),
            (StudyText::Invalid, Colour::Nth(3), of(StudyText::Invalid)),
            (StudyText::Stopped, Colour::Quiet, of(StudyText::Stopped)),
            (StudyText::Done, Colour::Nth(0), of(StudyText::Done)),
            (
                StudyText::FreshStarts,
                Colour::Nth(2),
                Shape::Scatter(repeats.collect()),
            ),
            (
                StudyText::FailedAtFloor,
                Colour::Bad,
                Shape::Scatter(failed.collect()),
            ),
        ]);
        let x = Axis::new(self.say(StudyText::Id), "", Scale::Linear);
        let mut panel = self.panel("", x, self.objective(Scale::Linear), series);
        panel.marks.extend(self.default_mark());
        self.figure("study-history", StudyText::History, vec![panel])
    }

    /// The flags, the most important first.
    fn flags(&self) -> Vec<&str> {
        let importance = self.report.result.importance.iter();
        let others = self.trials().flat_map(|trial| trial.flags.0.keys());
        distinct((importance.map(|line| line.flag.as_str())).chain(others.map(String::as_str)))
    }

    fn slices(&self) -> Option<Figure> {
        let flags = self.flags();
        let panels: Vec<Panel> = (flags.iter().take(MOST_SLICES))
            .filter(|flag| self.is_varied(flag))
            .map(|flag| self.slice(flag))
            .collect();
        let mut figure = self.figure("study-slices", StudyText::Slices, panels);
        if flags.len() > MOST_SLICES {
            let left = flags[MOST_SLICES..].join(", ");
            let note = StudyText::MoreFlags.with(self.report.lang, &[("flags", left)]);
            figure.footnotes.push(note);
        }
        (!figure.panels.is_empty()).then_some(figure)
    }

    /// A flag of one value would be a vertical line of dots.
    fn is_varied(&self, flag: &str) -> bool {
        let mut values = self.trials().filter_map(|trial| trial.flags.get(flag));
        let first = values.next();
        first.is_some_and(|first| values.any(|value| !value.same(first)))
    }

    /// Where failed trials are drawn: on the lowest figure, since charts show the trials and not
    /// what lies below them.
    fn floor(&self) -> Option<f64> {
        self.trials().filter_map(first_figure).reduce(f64::min)
    }

    fn slice(&self, flag: &str) -> Panel {
        let axis = FlagAxis::of(flag, self.trials());
        let floor = self.floor();
        let of = |wanted: &dyn Fn(&TrialRow) -> bool, y: &dyn Fn(&TrialRow) -> Option<f64>| {
            let found = self.trials().filter(|trial| wanted(trial));
            let samples = found.filter_map(|trial| {
                let x = axis.place(trial.flags.get(flag)?)?;
                Some(Sample::new(x, y(trial)))
            });
            Shape::Scatter(samples.collect())
        };
        let ended = |text: StudyText| of(&|trial| outcome(trial) == text, &first_figure);
        let series = self.drawn([
            (
                StudyText::SloMissed,
                Colour::Nth(1),
                ended(StudyText::SloMissed),
            ),
            (
                StudyText::Invalid,
                Colour::Nth(3),
                ended(StudyText::Invalid),
            ),
            (StudyText::Done, Colour::Nth(0), ended(StudyText::Done)),
            (
                StudyText::FailedAtFloor,
                Colour::Bad,
                of(&is_failure, &|_| floor),
            ),
        ]);
        let y = self.objective(Scale::Linear);
        let mut panel = self.panel(key(flag), axis.axis(), y, series);
        panel.marks.extend(self.default_mark());
        panel
    }

    /// A line for each trial through the values of all flags, with its figure at the end.
    fn parallel(&self) -> Option<Figure> {
        let flags = self.flags();
        if flags.len() < 2 {
            return None;
        }
        let axes: Vec<FlagAxis> = (flags.iter())
            .map(|flag| FlagAxis::of(flag, self.trials()))
            .collect();
        let drawn: Vec<&TrialRow> = (self.searched())
            .filter(|trial| !trial.flags.0.is_empty())
            .take(MOST_LINES)
            .collect();
        let figures: Vec<f64> = drawn.iter().filter_map(|it| first_figure(it)).collect();
        let (low, high) = ends(&figures)?;
        let mut ranked: Vec<&&TrialRow> = (drawn.iter())
            .filter(|it| outcome(it) == StudyText::Done && first_figure(it).is_some())
            .collect();
        ranked.sort_by(|a, b| {
            let (a, b) = (first_figure(a), first_figure(b));
            let order = a.unwrap_or(0.0).total_cmp(&b.unwrap_or(0.0));
            if self.is_better(1.0, 0.0) {
                order.reverse()
            } else {
                order
            }
        });
        let best: Vec<u64> = (ranked.iter())
            .take(ranked.len().div_ceil(4))
            .map(|it| it.id)
            .collect();
        let mut series = Vec::new();
        let mut group = |name: StudyText, colour: Colour, member: &dyn Fn(&TrialRow) -> bool| {
            for (nth, trial) in drawn.iter().filter(|it| member(it)).enumerate() {
                let mut samples: Vec<Sample> = (flags.iter().zip(&axes).enumerate())
                    .map(|(at, (flag, axis))| {
                        let value = trial.flags.get(flag);
                        Sample::new(at as f64, value.and_then(|value| axis.share(value)))
                    })
                    .collect();
                let end = first_figure(trial).map(|figure| share_of_range(figure, low, high));
                samples.push(Sample::new(flags.len() as f64, end));
                let name = if nth == 0 {
                    self.say(name)
                } else {
                    String::new()
                };
                series.push(Series::new(name, colour, Shape::Line(samples)));
            }
        };
        group(StudyText::OtherTrials, Colour::Quiet, &|trial| {
            !is_failure(trial) && !best.contains(&trial.id)
        });
        group(StudyText::FailedTrials, Colour::Bad, &is_failure);
        group(StudyText::BestQuarter, Colour::Nth(0), &|trial| {
            best.contains(&trial.id)
        });
        let mut spans: Vec<[String; 2]> = axes.iter().map(FlagAxis::span).collect();
        spans.push([low, high].map(number::brief));
        let labels = spans.into_iter().enumerate().flat_map(|(at, [low, high])| {
            let at = at as f64;
            [(FOOT, low), (TOP, high)].map(|(y, word)| Sample::new(at, Some(y)).labelled(word))
        });
        let labels = Shape::Words(labels.collect());
        series.push(Series::new("", Colour::Quiet, labels));
        let mut names: Vec<String> = flags.iter().map(|flag| key(flag).to_owned()).collect();
        names.push(self.objective(Scale::Linear).caption());
        let mut y = Axis::new("", "", Scale::Linear);
        y.bounds = Some([FOOT - 0.05, TOP + 0.05]);
        // Every flag has a scale of its own, so that the common one has no tick inside.
        y.ticks_at = vec![2.0];
        let uprights =
            (0..names.len()).map(|at| Mark::new(On::X, at as f64, "", MarkKind::Reference));
        let uprights: Vec<Mark> = uprights.collect();
        let mut panel = self.panel("", Axis::of_names("", names), y, series);
        panel.marks = uprights;
        let mut figure = self.figure("study-parallel", StudyText::Parallel, vec![panel]);
        let all = self.searched().filter(|it| !it.flags.0.is_empty()).count();
        if all > drawn.len() {
            let shown = [("shown", drawn.len().to_string()), ("all", all.to_string())];
            let note = StudyText::FirstOf.with(self.report.lang, &shown);
            figure.footnotes.push(note);
        }
        figure.footnotes.push(self.say(StudyText::ParallelNote));
        Some(figure)
    }

    /// Two objectives against each other, with the front.
    fn front(&self) -> Option<Figure> {
        let [first, second, ..] = self.report.objectives() else {
            return None;
        };
        let pair = |trial: &TrialRow| {
            let x = *trial.objectives.first()?;
            Some(Sample::new(x?, *trial.objectives.get(1)?).labelled(trial.id.to_string()))
        };
        let of = |state: StudyText| -> Vec<Sample> {
            let found = self.searched().filter(|it| outcome(it) == state);
            let mut samples: Vec<Sample> = found.filter_map(pair).collect();
            // Only the front is labelled.
            samples.iter_mut().for_each(|sample| sample.label = None);
            samples
        };
        let groups = [
            (StudyText::SloMissed, Colour::Nth(1)),
            (StudyText::Invalid, Colour::Nth(3)),
            (StudyText::Done, Colour::Nth(0)),
        ];
        let measured: Vec<(StudyText, Colour, Vec<Sample>)> = (groups.into_iter())
            .map(|(state, colour)| (state, colour, of(state)))
            .collect();
        let front = self
            .searched()
            .filter(|it| self.report.result.pareto.contains(&it.id));
        let mut front: Vec<Sample> = front.filter_map(pair).collect();
        front.sort_by(|a, b| a.x.total_cmp(&b.x));
        // Trials of one result share a label.
        front.dedup_by(|b, a| a.x == b.x && a.y == b.y);
        let wide = |values: Vec<f64>| match ends(&values) {
            Some((low, high)) if low > 0.0 && high / low > WIDE => Scale::Log,
            _ => Scale::Linear,
        };
        let all = || measured.iter().flat_map(|(_, _, samples)| samples);
        let x = wide(all().map(|sample| sample.x).collect());
        let y = wide(all().filter_map(|sample| sample.y).collect());
        let mut series: Vec<Series> = (measured.into_iter())
            .filter(|(_, _, samples)| !samples.is_empty())
            .map(|(state, colour, samples)| {
                Series::new(self.say(state), colour, Shape::Scatter(samples))
            })
            .collect();
        series.push(Series::new(
            self.say(StudyText::Pareto),
            Colour::Good,
            Shape::Line(front),
        ));
        let (x, y) = (self.measure(&first.path, x), self.measure(&second.path, y));
        let panel = self.panel("", x, y, series);
        let mut figure = self.figure("study-front", StudyText::Pareto, vec![panel]);
        let axis = [("axis", self.say(StudyText::Id))];
        let labels = FigureText::LabelsAre.with(self.report.lang, &axis);
        figure.footnotes.push(labels);
        Some(figure)
    }
}

/// Keys of a configuration file are known without the tables that they stand in.
fn key(flag: &str) -> &str {
    flag.rsplit('.').next().unwrap_or(flag)
}

fn first_figure(trial: &TrialRow) -> Option<f64> {
    let figure = trial.objectives.first().copied().flatten();
    figure.filter(|figure| figure.is_finite())
}
