//! The command that repeats a sweep: as it was typed, else from its plan, as the settings of one
//! point with lists of what differs between the points.

use super::SweepReport;
use crate::run::{shell_word, started, typed};
use inferometer_chart::measured::value_text;
use inferometer_core::options::Options;
use inferometer_store::sweep_dir::{PlannedPoint, SweepPlan};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Options that may follow an axis without being one.
const FOLLOWING: [&str; 2] = ["requests", "warmup"];

/// The words of the command; absent where none would make the same points.
pub(super) fn command(report: &SweepReport<'_>) -> Option<Vec<String>> {
    let plan = report.plan;
    if !plan.typed.is_empty() {
        let goes_on = super::unfinished(report) > 0;
        return Some(typed(&plan.typed, goes_on.then_some(report.directory)));
    }
    let mut words: Vec<String> = ["inferometer", "sweep"].map(str::to_owned).into();
    // Later repeats have seeds of their own.
    let firsts = report.visited.iter().map(|visited| &visited.trial);
    let run =
        (firsts.filter(|trial| trial.repeat == 0)).find_map(|trial| trial.directory.as_ref())?;
    let scenario = report.directory.join(run).join("scenario.toml");
    words.push("--config".to_owned());
    words.push(shell_word(&scenario.to_string_lossy()));
    let point = plan.points.first()?;
    for header in point.options.connection.header_names.iter().flatten() {
        // Values of headers are never stored, so the reader has to give them again.
        words.push(format!("--header {}", shell_word(&format!("{header}=…"))));
    }
    let side_by_side = !is_product(plan);
    for axis in &plan.axes {
        let values = listed(if side_by_side {
            values(plan, axis).collect()
        } else {
            distinct(values(plan, axis))
        })?;
        if axis == "url" {
            words.push("--interleave".to_owned());
            words.extend(values.iter().map(|url| shell_word(url)));
        } else if plan.points.iter().any(|it| it.flags.contains_key(axis)) {
            words.push("--engine-flag".to_owned());
            words.push(shell_word(&format!("{axis}={}", values.join(","))));
        } else {
            words.push(format!("--{axis}"));
            words.push(shell_word(&values.join(",")));
        }
    }
    let others = differing(plan);
    for option in others.iter().filter(|option| !plan.axes.contains(option)) {
        let follows = FOLLOWING.contains(&option.as_str());
        let expression = follows.then(|| expression(plan, option)).flatten()?;
        words.extend([format!("--{option}"), shell_word(&expression)]);
    }
    if side_by_side {
        words.push("--zip".to_owned());
    }
    if !plan.seeds.is_empty() {
        let seeds: Vec<String> = plan.seeds.iter().map(u64::to_string).collect();
        words.extend(["--seed".to_owned(), seeds.join(",")]);
    }
    let repeat = plan.repeat / u32::try_from(plan.seeds.len().max(1)).unwrap_or(1);
    if repeat > 1 {
        words.extend(["--repeat".to_owned(), repeat.to_string()]);
        words.extend(
            order(plan)
                .into_iter()
                .flat_map(|order| ["--order", order])
                .map(str::to_owned),
        );
    }
    // A flag of one value is no axis.
    for (flag, value) in (point.flags.iter()).filter(|(flag, _)| !plan.axes.contains(flag)) {
        let is_one = (plan.points.iter()).all(|it| it.flags.get(flag) == Some(value));
        is_one.then_some(())?;
        words.push("--engine-flag".to_owned());
        words.push(shell_word(&format!("{flag}={value}")));
    }
    words.extend(started(&plan.engine_options, &plan.engine));
    Some(words)
}

fn values<'a>(plan: &'a SweepPlan, axis: &'a str) -> impl Iterator<Item = String> + 'a {
    let points = plan.points.iter();
    points.map(move |planned| value_text(planned.point.0.get(axis)))
}

/// Each value of every axis is measured with each of the others.
fn is_product(plan: &SweepPlan) -> bool {
    let of_axis = |axis: &String| values(plan, axis).collect::<BTreeSet<_>>().len();
    let points: BTreeSet<String> = (plan.points.iter())
        .map(|it| it.point.to_string())
        .collect();
    plan.axes.iter().map(of_axis).product::<usize>() == points.len()
}

/// Each value once, in the order of its first.
fn distinct(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    values.filter(|value| known.insert(value.clone())).collect()
}

/// Values that can be typed as a list; absent where one would be taken apart.
fn listed(values: Vec<String>) -> Option<Vec<String>> {
    // Commas inside brackets belong to one value.
    let is_one = |value: &String| {
        let whole = !value.contains(',') || value.ends_with(')');
        whole && !value.is_empty() && !value.starts_with("by ")
    };
    values.iter().all(is_one).then_some(values)
}

/// Options that are not the same at every point.
fn differing(plan: &SweepPlan) -> Vec<String> {
    let points = plan.points.iter().map(|planned| flat(&planned.options));
    let points: Vec<BTreeMap<String, Value>> = points.collect();
    let names: BTreeSet<&String> = points.iter().flat_map(BTreeMap::keys).collect();
    let differs = |name: &&String| {
        let mut values = points.iter().map(|point| point.get(*name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    names.into_iter().filter(differs).cloned().collect()
}

/// Every option by its name, whatever its table.
fn flat(options: &Options) -> BTreeMap<String, Value> {
    let tables = match serde_json::to_value(options) {
        Ok(Value::Object(tables)) => tables,
        _ => return BTreeMap::new(),
    };
    let tables = tables.into_iter().filter_map(|(_, table)| match table {
        Value::Object(table) => Some(table),
        _ => None,
    });
    tables
        .flatten()
        .filter(|(_, value)| !value.is_null())
        .collect()
}

/// `concurrency*12`, where an option follows an axis so.
fn expression(plan: &SweepPlan, option: &str) -> Option<String> {
    let number = |value: Option<&Value>| -> Option<f64> { value_text(value).parse().ok() };
    let ratio = |planned: &PlannedPoint, axis: &str| {
        let value = number(flat(&planned.options).get(option))?;
        let ratio = value / number(planned.point.0.get(axis))?;
        (ratio.fract() == 0.0 && ratio.is_finite()).then_some(ratio)
    };
    let follows = |axis: &str| {
        let mut ratios = plan.points.iter().map(|planned| ratio(planned, axis));
        let first = ratios.next()??;
        ratios.all(|ratio| ratio == Some(first)).then_some(first)
    };
    plan.axes
        .iter()
        .find_map(|axis| Some(format!("{axis}*{}", follows(axis)?)))
}

/// The order of the repeats, where it is not the usual one.
fn order(plan: &SweepPlan) -> Option<&'static str> {
    let mut by_point = plan.visits.clone();
    by_point.sort_unstable();
    if by_point == plan.visits {
        return Some("sequential");
    }
    let there_and_back = |pair: &[(usize, u32)]| {
        let [(point, repeat), (next, next_repeat)] = [pair[0], pair[1]];
        match (repeat == next_repeat, repeat % 2) {
            (true, 0) => next > point,
            (true, _) => next < point,
            (false, _) => next == point,
        }
    };
    (!plan.visits.windows(2).all(there_and_back)).then_some("random")
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::point::Point;
    use inferometer_store::sweep_dir::PLAN_SCHEMA;
    use serde_json::json;

    fn planned(axes: &[(&str, Value)], requests: u64) -> PlannedPoint {
        let mut options = Options::default();
        options.load.requests = requests.to_string().parse().ok();
        let point: BTreeMap<String, Value> = (axes.iter())
            .map(|(axis, value)| ((*axis).to_owned(), value.clone()))
            .collect();
        PlannedPoint {
            id: format!("{point:?}"),
            point: Point(point),
            flags: BTreeMap::new(),
            options,
        }
    }

    fn plan(axes: &[&str], points: Vec<PlannedPoint>) -> SweepPlan {
        SweepPlan {
            schema: PLAN_SCHEMA.to_owned(),
            axes: axes.iter().map(ToString::to_string).collect(),
            repeat: 1,
            visits: (0..points.len()).map(|point| (point, 0)).collect(),
            points,
            ..SweepPlan::default()
        }
    }

    fn said(plan: &SweepPlan) -> Option<String> {
        use inferometer_store::sweep_dir::{Trial, TrialState};
        let visited = super::super::Visited {
            trial: Trial {
                class: None,
                id: plan.points[0].id.clone(),
                repeat: 0,
                state: TrialState::Done,
                directory: Some("points/first".to_owned()),
                reason: None,
                ended: String::new(),
            },
            summary: None,
        };
        let report = SweepReport {
            plan,
            visited: &[visited],
            directory: std::path::Path::new("my sweeps"),
            environment: None,
            columns: None,
            lang: Default::default(),
        };
        command(&report).map(|words| words.join(" "))
    }

    const BEGIN: &str = "inferometer sweep --config 'my sweeps/points/first/scenario.toml'";

    #[test]
    fn lists_and_requests_that_follow_the_load_are_typed_as_such() {
        let points = [512, 1024].into_iter().flat_map(|input| {
            [1u64, 8].map(|level| {
                let axes = [
                    ("input-tokens", json!(input)),
                    ("concurrency", json!(level)),
                ];
                planned(&axes, 12 * level)
            })
        });
        let plan = plan(&["input-tokens", "concurrency"], points.collect());
        let expected = format!(
            "{BEGIN} --input-tokens 512,1024 --concurrency 1,8 --requests 'concurrency*12'"
        );
        assert_eq!(said(&plan), Some(expected));
    }

    #[test]
    fn lists_side_by_side_stay_so_and_the_engine_follows() {
        let points = [(1, 64), (2, 64), (4, 32)].map(|(level, length)| {
            planned(
                &[
                    ("concurrency", json!(level)),
                    ("output-tokens", json!(length)),
                ],
                10,
            )
        });
        let mut plan = plan(&["concurrency", "output-tokens"], points.to_vec());
        plan.engine_options = vec!["--engine-stop".to_owned(), "docker stop x".to_owned()];
        plan.engine = vec!["vllm".to_owned(), "serve".to_owned(), "a b".to_owned()];
        for planned in &mut plan.points {
            (planned.flags).insert("max-num-seqs".to_owned(), "64".to_owned());
        }
        plan.repeat = 2;
        plan.visits = vec![(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1)];
        let expected = format!(
            "{BEGIN} --concurrency 1,2,4 --output-tokens 64,64,32 --zip --repeat 2 \
             --engine-flag max-num-seqs=64 --engine-stop 'docker stop x' -- vllm serve 'a b'"
        );
        assert_eq!(said(&plan), Some(expected));
        plan.visits.sort_unstable();
        assert!(said(&plan).is_some_and(|it| it.contains("--order sequential")));
    }

    #[test]
    fn what_was_typed_is_repeated_as_it_was_but_for_the_folder() {
        let points = [1u64, 8].map(|level| planned(&[("concurrency", json!(level))], 10));
        let mut plan = plan(&["concurrency"], points.to_vec());
        let words =
            "sweep --concurrency 1,8 --out runs/a --requests concurrency*10 -- vllm serve --out=b";
        plan.typed = words.split(' ').map(str::to_owned).collect();
        // It is unfinished, and goes on in its folder.
        let expected = "inferometer sweep --concurrency 1,8 --requests 'concurrency*10' \
                        --out 'my sweeps' -- vllm serve --out=b";
        assert_eq!(said(&plan).as_deref(), Some(expected));
    }

    #[test]
    fn where_no_command_makes_the_same_points_none_is_given() {
        let mut points = vec![
            planned(&[("concurrency", json!(1))], 10),
            planned(&[("concurrency", json!(3))], 20),
        ];
        assert_eq!(said(&plan(&["concurrency"], points.clone())), None);
        points[1] = planned(&[("prompt", json!("one, two"))], 10);
        points[0] = planned(&[("prompt", json!("three"))], 10);
        assert_eq!(said(&plan(&["prompt"], points)), None);
    }
}
