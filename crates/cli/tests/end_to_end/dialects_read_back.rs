//! What `report --dialect` prints is what `import` reads: the same figures under the same names, of
//! every dialect in both of its forms.

use crate::support::Place;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const DIALECTS: [&str; 8] = [
    "vllm",
    "sglang",
    "evalscope-2024",
    "evalscope",
    "mindie",
    "grid-log",
    "aiperf",
    "guidellm",
];

/// Figures whose name the tool shares with us and whose definition it does not, by the beginning and
/// the end of the name.
const DEFINED_OTHERWISE: [(&str, &str, &str, &str); 13] = [
    ("vllm", "latency.", ".std", "divides by n, not by n − 1"),
    ("sglang", "latency.", ".std", "divides by n, not by n − 1"),
    ("aiperf", "", ".std", "divides by n, not by n − 1"),
    ("guidellm", "", ".std", "divides by n, not by n − 1"),
    ("vllm", "concurrency.peak", "", "by whole seconds"),
    ("sglang", "concurrency.peak", "", "by whole seconds"),
    ("evalscope-2024", "latency.", "", "percentiles by index"),
    ("evalscope", "", "", "percentiles by nearest rank"),
    ("grid-log", "", "_s", "by whole seconds of a clock"),
    ("aiperf", "latency.itl_ms.", "", "means of requests"),
    ("guidellm", "", ".p", "percentiles by nearest rank"),
    ("guidellm", "latency.itl_ms.", "", "weighted by tokens"),
    ("guidellm", "latency.tpot_ms.", "", "with the first token"),
];

/// Numbers of a form that an import names as not read, with the reason that it gives.
const NOT_READ: [(&str, &str, &str); 13] = [
    ("vllm", "num_prompts", "not-measured"),
    ("sglang", "random_input_len", "not-measured"),
    ("sglang", "random_output_len", "not-measured"),
    ("sglang", "random_range_ratio", "not-measured"),
    ("sglang", "goodput_slos_ms", "not-measured"),
    ("sglang", "slo_attainment_by_metric", "not-measured"),
    ("evalscope", "Stream Requests", "no-counterpart"),
    ("evalscope", "Non-Stream Requests", "no-counterpart"),
    ("evalscope", "Total (tok/s)", "no-counterpart"),
    ("aiperf", "input_config", "not-measured"),
    ("guidellm", "config", "not-measured"),
    ("guidellm", "metrics.*.", "not-answered"),
    ("guidellm", "metrics.", "no-counterpart"),
];

/// Tools that keep times of day as numbers of seconds lose a part of a microsecond.
const LEAST_OFF: f64 = 1e-5;

type Numbers = BTreeMap<String, f64>;

fn numbers(value: &Value, name: &str, into: &mut Numbers) {
    let below = |key: &str| match name {
        "" => key.to_owned(),
        name => format!("{name}.{key}"),
    };
    match value {
        Value::Number(number) => {
            into.insert(name.to_owned(), number.as_f64().unwrap());
        }
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                numbers(value, &below(&at.to_string()), into);
            }
        }
        Value::Object(values) => {
            for (key, value) in values {
                numbers(value, &below(key), into);
            }
        }
        // `57.8135 ms`, `300( 100.0% )`, and no date.
        Value::String(text) => {
            let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
            let (number, unit) = text.split_at(end.unwrap_or(text.len()));
            if (unit.is_empty() || unit.starts_with([' ', '(', '[']))
                && let Ok(number) = number.parse()
            {
                into.insert(name.to_owned(), number);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn all_numbers(value: &Value) -> Numbers {
    let mut found = Numbers::new();
    numbers(value, "", &mut found);
    found
}

/// Half a unit of the last digit of the number by which a form says this value, in our unit; the
/// coarsest, where it is said more than once. `None` where it is not said.
fn rounding(form: &str, value: f64) -> Option<f64> {
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let tokens = form.split(|c: char| !is_of_number(c));
    let halves = tokens.filter_map(|token| {
        let token = token.trim_matches(['.', ',']).replace(',', "");
        let number: f64 = token.parse().ok()?;
        let digits = token.split_once('.').map_or(0, |(_, digits)| digits.len());
        // Seconds for milliseconds, per cent for a share.
        let scale = [1.0, 1000.0, 0.01].into_iter().find(|scale| {
            (number * scale - value).abs() <= 1e-9 * value.abs().max(f64::MIN_POSITIVE)
        })?;
        Some(0.501 * scale * 0.1_f64.powi(digits as i32))
    });
    halves.reduce(f64::max)
}

fn known(
    reasons: &[(&'static str, &'static str, &'static str, &str)],
    tool: &str,
    name: &str,
) -> Option<usize> {
    (reasons.iter()).position(|(of, begin, end, _)| {
        let rest = name.strip_prefix(begin).filter(|_| *of == tool);
        // `.p` is the beginning of the last part, a percentile.
        let last = name.rfind('.').map_or("", |dot| &name[dot..]);
        rest.is_some() && (name.ends_with(end) || *end == ".p" && last.starts_with(".p"))
    })
}

struct Form {
    text: String,
    found: Value,
}

fn read_back(place: &Place, result: &str, tool: &str, format: &str) -> Vec<Form> {
    let said = place.run(&["report", result, "--dialect", tool, "--format", format]);
    // 1 where objectives were missed.
    let is_told = matches!(said.code, Some(0 | 1)) && !said.stdout.is_empty();
    assert!(is_told, "{tool} {format}: {}", said.stderr);
    let file = place.write(&format!("{tool}.{format}"), &said.stdout);
    let read = place.run(&["import", &file, "--format", "json"]);
    let found: Value = serde_json::from_str(&read.stdout)
        .unwrap_or_else(|error| panic!("{tool} {format}: {error}: {}", said.stdout));
    assert_eq!(found["unread"], serde_json::json!([]), "{tool} {format}");
    let results = found["results"].as_array().unwrap();
    let form = |found: &Value| {
        assert_eq!(found["tool"], tool, "{tool} {format}: {found:#}");
        for doubt in found["doubts"].as_array().unwrap() {
            assert_eq!(doubt["severity"], "note", "{tool} {format}: {doubt}");
        }
        assert_eq!(found["twice"], serde_json::json!([]), "{tool} {format}");
        Form {
            text: said.stdout.clone(),
            found: found.clone(),
        }
    };
    results.iter().map(form).collect()
}

/// What is wrong, all of it, and which reasons were needed.
#[derive(Default)]
struct Findings {
    wrong: Vec<String>,
    defined: BTreeSet<usize>,
    unread: BTreeSet<usize>,
}

impl Findings {
    /// Names of numbers that were not read, which are all known with their reason.
    fn not_read(&mut self, tool: &str, form: &Form) -> Vec<String> {
        let because = form.found["unread_because"].as_object();
        let mut names = Vec::new();
        for (name, reason) in because.into_iter().flatten() {
            let is_known = |(of, begin, why): &(&str, &str, &str)| {
                *of == tool && name.starts_with(begin) && reason == why
            };
            match NOT_READ.iter().position(is_known) {
                Some(at) => drop(self.unread.insert(at)),
                None => (self.wrong).push(format!("{tool} does not read {name}: {reason}")),
            }
            names.push(name.clone());
        }
        names
    }

    /// Holds what was read against the run's own figures of the same name.
    fn compare(&mut self, tool: &str, form: &Form, own: &Numbers) {
        let read = all_numbers(&form.found["summary"]);
        let derived = form.found["derived"].to_string();
        let mut compared = 0;
        for (name, value) in &read {
            let is_said = !name.starts_with("other.") && !derived.contains(name.as_str());
            let (true, Some(own)) = (is_said, own.get(name)) else {
                continue;
            };
            compared += 1;
            let off = rounding(&form.text, *value).unwrap_or(0.0);
            if (own - value).abs() > off.max(LEAST_OFF * own.abs()) {
                match known(&DEFINED_OTHERWISE, tool, name) {
                    Some(at) => drop(self.defined.insert(at)),
                    None => self
                        .wrong
                        .push(format!("{tool}: {name} is {value}, not {own}")),
                }
            }
        }
        assert!(compared >= 10, "{tool}: {compared} figures");
    }

    /// Every number of a file is in the result, or named.
    fn walk(&mut self, tool: &str, form: &Form, named: &[String]) {
        let all: Vec<f64> = all_numbers(&form.found).into_values().collect();
        let file: Value = serde_json::from_str(&form.text.replace("Infinity", "null")).unwrap();
        // -1 is "no limit".
        let told = all_numbers(&file).into_iter();
        for (name, value) in told.filter(|(_, value)| *value >= 0.0) {
            let is_near = |own: &f64| {
                let scaled = [1.0, 1000.0, 0.01].map(|scale| scale * value);
                let mut scaled = scaled.iter();
                scaled.any(|value| (own - value).abs() <= 1e-9 * value.abs())
            };
            let is_named = |unread: &String| {
                let mut parts = unread.split('*').map(|part| part.trim_matches('.'));
                parts.all(|part| name.contains(part))
            };
            if !all.iter().any(is_near) && !named.iter().any(is_named) {
                self.wrong.push(format!("{tool} loses {name} = {value}"));
            }
        }
    }

    /// Whatever the tool means by a name, it means it in both of its forms.
    fn agree(&mut self, tool: &str, json: &Form, text: &Form) {
        let [of_json, of_text] = [json, text].map(|form| all_numbers(&form.found["summary"]));
        for (name, value) in &of_text {
            let said = rounding(&text.text, *value);
            if let (Some(exact), Some(off)) = (of_json.get(name), said)
                && (exact - value).abs() > off.max(LEAST_OFF * exact.abs())
            {
                (self.wrong).push(format!("{tool}: {name} is {value} and {exact}"));
            }
        }
    }
}

#[test]
fn every_dialect_is_read_back_with_the_same_figures_under_the_same_names() {
    let place = Place::new();
    let burst = "run --quiet --no-html --sim-clock virtual --requests 300 --warmup none --hold none \
        --input-tokens uniform(64,448) --output-tokens uniform(8,120) \
        --slo ttft=60ms --slo tpot=11ms --slo e2e=2s";
    let mut findings = Findings::default();
    for (out, load, point) in [
        (
            "closed",
            "--concurrency 16 --stagger none",
            ("concurrency", 16.0),
        ),
        ("open", "--rate 6.5", ("rate", 6.5)),
    ] {
        let more = load.split(' ').chain(["--out", out]);
        place.run(&burst.split_whitespace().chain(more).collect::<Vec<_>>());
        let own = std::fs::read(place.path(out).join("summary.json")).unwrap();
        let own = all_numbers(&serde_json::from_slice(&own).unwrap());
        for tool in DIALECTS {
            let [json, text] = ["json", "text"].map(|format| {
                let forms = read_back(&place, out, tool, format);
                let [form] = <[Form; 1]>::try_from(forms).ok().expect(tool);
                form
            });
            // MindIE, the grid log and EvalScope's early releases say no rate.
            let says_load = point.0 == "concurrency"
                || !["mindie", "grid-log", "evalscope-2024"].contains(&tool);
            for form in [&json, &text] {
                let load = form.found["point"][point.0].as_f64();
                assert_eq!(load, says_load.then_some(point.1), "{tool}");
                let named = findings.not_read(tool, form);
                findings.compare(tool, form, &own);
                if std::ptr::eq(form, &json) {
                    findings.walk(tool, form, &named);
                }
            }
            findings.agree(tool, &json, &text);
        }
    }
    let Findings {
        wrong,
        defined,
        unread,
    } = findings;
    assert!(wrong.is_empty(), "{wrong:#?}");
    let idle = DEFINED_OTHERWISE.iter().enumerate();
    let idle: Vec<_> = idle.filter(|(at, _)| !defined.contains(at)).collect();
    assert!(idle.is_empty(), "no figure needs {idle:?}");
    let idle = NOT_READ.iter().enumerate();
    let idle: Vec<_> = idle.filter(|(at, _)| !unread.contains(at)).collect();
    assert!(idle.is_empty(), "nothing is unread as {idle:?}");
}

#[test]
fn a_sweep_is_read_back_point_by_point_in_every_dialect() {
    let place = Place::new();
    let sweep = "sweep --quiet --no-html --sim-clock virtual --out sweep --concurrency 2,4,16 \
        --requests 120 --input-tokens uniform(64,448) --output-tokens uniform(8,60)";
    place.run(&sweep.split_whitespace().collect::<Vec<_>>());
    for tool in DIALECTS {
        for format in ["text", "json"] {
            let forms = read_back(&place, "sweep", tool, format);
            let loads: Vec<&Value> = (forms.iter())
                .map(|form| &form.found["point"]["concurrency"])
                .collect();
            assert_eq!(loads, [2, 4, 16], "{tool} {format}");
        }
    }
}
