//! Every form that is printed or stored, against its schema in `schemas/`. What is printed by any
//! test of this program is checked where it is read (`support`).

use crate::support::Place;
use crate::tune;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

fn schema(name: &str) -> Value {
    let path = format!("{}/../../schemas/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap()
}

/// Checks an output, if it is an object that names its form.
#[track_caller]
pub fn check_printed(text: &str) {
    let Ok(object) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let form = object["schema"].as_str().unwrap_or_default();
    let name = form.strip_prefix("inferometer.");
    if let Some(name) = name.and_then(|name| name.strip_suffix("/1")) {
        check(name, &object);
    }
}

/// Checks an object against a schema, more strictly than readers need: it may have no key that
/// the schema does not know.
#[track_caller]
fn check(name: &str, object: &Value) {
    let root = schema(name);
    if let Err(why) = (Validator { root: &root }).check(object, &root) {
        panic!("not of the form {name}: {why}\n{object:#}");
    }
}

/// As much of JSON Schema as ours use; any other keyword is an error.
struct Validator<'a> {
    root: &'a Value,
}

impl Validator<'_> {
    fn check(&self, value: &Value, schema: &Value) -> Result<(), String> {
        self.rules(value, schema)?;
        let (Value::Object(object), Some(known)) = (value, self.known(schema)) else {
            return Ok(());
        };
        match object.keys().find(|key| !known.contains(key.as_str())) {
            Some(key) => Err(format!("the schema lacks the key '{key}'")),
            None => Ok(()),
        }
    }

    /// The keys that a schema of an object lists; absent where it allows any.
    fn known<'s>(&'s self, schema: &'s Value) -> Option<BTreeSet<&'s str>> {
        if schema
            .get("additionalProperties")
            .is_some_and(|more| *more != false)
        {
            return None;
        }
        let own = schema.get("properties").and_then(Value::as_object);
        let base = schema.get("$ref").and_then(Value::as_str);
        let base = base.and_then(|place| self.known(self.definition(place)));
        if own.is_none() && base.is_none() {
            return None;
        }
        let own = own.into_iter().flat_map(Map::keys).map(String::as_str);
        let mut known: BTreeSet<&str> = own.chain(base.into_iter().flatten()).collect();
        // Alternatives beside them know further keys.
        let more = ["anyOf", "oneOf"]
            .iter()
            .filter_map(|list| schema.get(list));
        for alternative in more.filter_map(Value::as_array).flatten() {
            known.extend(self.known(alternative).into_iter().flatten());
        }
        Some(known)
    }

    fn definition(&self, place: &str) -> &Value {
        let place = place.strip_prefix('#').expect("a place in the same file");
        self.root.pointer(place).expect("a definition")
    }

    fn rules(&self, value: &Value, schema: &Value) -> Result<(), String> {
        let Value::Object(rules) = schema else {
            return if *schema == Value::Bool(true) {
                Ok(())
            } else {
                Err("nothing is allowed here".to_owned())
            };
        };
        for (keyword, rule) in rules {
            self.rule(value, keyword, rule, rules)
                .map_err(|why| format!("{keyword}: {why}"))?;
        }
        Ok(())
    }

    fn rule(
        &self,
        value: &Value,
        keyword: &str,
        rule: &Value,
        rules: &Map<String, Value>,
    ) -> Result<(), String> {
        let holds = match keyword {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => true,
            "$ref" => return self.rules(value, self.definition(rule.as_str().expect("a text"))),
            "type" => match rule {
                Value::Array(types) => types.iter().any(|of| is_of(value, of)),
                of => is_of(value, of),
            },
            "const" => value == rule,
            "enum" => rule.as_array().expect("values").contains(value),
            "minimum" => value
                .as_f64()
                .is_none_or(|it| it >= rule.as_f64().expect("a number")),
            "maximum" => value
                .as_f64()
                .is_none_or(|it| it <= rule.as_f64().expect("a number")),
            "minItems" => length(value).is_none_or(|n| n >= rule.as_u64().expect("a count")),
            "maxItems" => length(value).is_none_or(|n| n <= rule.as_u64().expect("a count")),
            "uniqueItems" => true,
            "required" => {
                let names = rule
                    .as_array()
                    .expect("names")
                    .iter()
                    .filter_map(Value::as_str);
                let Value::Object(object) = value else {
                    return Ok(());
                };
                let missing: Vec<&str> = names.filter(|name| !object.contains_key(*name)).collect();
                if !missing.is_empty() {
                    return Err(format!("{missing:?} missing"));
                }
                true
            }
            "properties" => {
                for (key, schema) in rule.as_object().expect("schemas by key") {
                    if let Some(value) = value.get(key) {
                        self.check(value, schema)
                            .map_err(|why| format!("{key}: {why}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let listed = rules.get("properties").and_then(Value::as_object);
                for (key, value) in value.as_object().into_iter().flatten() {
                    if listed.is_none_or(|listed| !listed.contains_key(key)) {
                        self.check(value, rule)
                            .map_err(|why| format!("{key}: {why}"))?;
                    }
                }
                true
            }
            "items" | "prefixItems" => {
                let values = value.as_array().into_iter().flatten();
                for (at, value) in values.enumerate() {
                    let schema = match rule {
                        Value::Array(each) => each.get(at),
                        all => Some(all),
                    };
                    if let Some(schema) = schema {
                        self.check(value, schema)
                            .map_err(|why| format!("{at}: {why}"))?;
                    }
                }
                true
            }
            "anyOf" | "oneOf" => {
                let alternatives = rule.as_array().expect("schemas");
                let beside = rules.contains_key("properties");
                let tried = alternatives.iter().map(|schema| {
                    if beside {
                        self.rules(value, schema)
                    } else {
                        self.check(value, schema)
                    }
                });
                let tried: Vec<Result<(), String>> = tried.collect();
                if tried.iter().all(Result::is_err) {
                    let why = tried.into_iter().filter_map(Result::err);
                    return Err(why.collect::<Vec<_>>().join("; or "));
                }
                true
            }
            other => panic!("the validator does not know '{other}'"),
        };
        if holds {
            Ok(())
        } else {
            Err(format!("{value} is not {rule}"))
        }
    }
}

fn is_of(value: &Value, of: &Value) -> bool {
    match of.as_str().expect("a type's name") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the validator does not know the type '{other}'"),
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}

fn read(place: &Place, file: &str) -> Value {
    let text = std::fs::read_to_string(place.path(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Each line of a file.
fn check_lines(place: &Place, file: &str, name: &str) {
    let text = std::fs::read_to_string(place.path(file)).unwrap();
    assert!(!text.is_empty());
    for line in text.lines() {
        check(name, &serde_json::from_str(line).unwrap());
    }
}

const VIRTUAL: [&str; 4] = ["--sim-clock", "virtual", "--quiet", "--no-html"];

#[test]
fn files_of_runs_sweeps_and_searches_are_of_their_forms() {
    let place = Place::new();
    let kept = |command: &[&str]| {
        let words = [command, &VIRTUAL, &["--format", "json"]].concat();
        let ended = place.run(&words);
        assert_ne!(ended.code, Some(2), "{ended:?}");
    };
    let short = ["--requests", "20", "--slo", "ttft=1s", "--tag", "a=b"];
    kept(&[&["run", "--out", "run"][..], &short].concat());
    check("summary", &read(&place, "run/summary.json"));
    let axes = ["--concurrency", "1,2", "--requests", "8"];
    kept(&[&["sweep", "--out", "sweep"][..], &axes].concat());
    check("sweep-plan", &read(&place, "sweep/sweep.json"));
    let tiers = ["--slo", "ttft.p90=1s", "--tier", "batch: e2e.p90=60s"];
    let short = ["--budget", "3000", "--output-tokens", "16"];
    kept(&[&["capacity", "--out", "capacity"][..], &tiers, &short].concat());
    check("capacity", &read(&place, "capacity/capacity.json"));
}

#[test]
fn lines_of_a_study_and_of_its_searcher_are_of_their_forms() {
    let place = Place::new();
    place.write(
        "searcher.sh",
        "while read -r line; do\n  echo \"$line\" >>lines\n  case $line in *'\"ask\"'*) \
         answer='{\"type\":\"finished\"}'; echo \"$answer\" >>lines; echo \"$answer\";; esac\ndone\n",
    );
    let study = tune::FEW_SLOTS.replace(
        "[last-stage]",
        "[search]\ncommand = \"sh searcher.sh\"\n[last-stage]",
    );
    let ended = tune::tune(
        &place,
        &study,
        &["--format", "json", "--sim-clock", "virtual"],
    );
    assert_ne!(ended.code, Some(2), "{ended:?}");
    check_lines(&place, "tuned/trials.jsonl", "trials");
    check_lines(&place, "lines", "searcher");
}

#[test]
fn a_kept_import_and_a_calibration_are_of_their_forms() {
    let place = Place::new();
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");
    let notes = format!("{fixtures}/import/evalscope-2024-notes.md");
    let ended = place.run(&["import", &notes, "--out", "notes", "--format", "json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("import", &read(&place, "notes/import.json"));
    let ladder = format!("{fixtures}/plan/ladder.md");
    let words = [
        "plan",
        "calibrate",
        &ladder,
        "--model",
        "qwen1.5-7b",
        "--device",
        "a100-80g",
        "--input-tokens",
        "60",
        "--output-tokens",
        "200",
        "-o",
        "calibration.toml",
        "--format",
        "json",
    ];
    let ended = place.run(&words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let text = std::fs::read_to_string(place.path("calibration.toml")).unwrap();
    let mut stored: Value = toml::from_str(&text).unwrap();
    fill_nulls(&mut stored, &serde_json::from_str(&ended.stdout).unwrap());
    check("calibration", &stored);
}

/// TOML has no null: what is null in the printed form is left out of the file.
fn fill_nulls(stored: &mut Value, printed: &Value) {
    match (stored, printed) {
        (Value::Object(stored), Value::Object(printed)) => {
            for (key, value) in printed {
                if value.is_null() {
                    stored.entry(key.as_str()).or_insert(Value::Null);
                } else if let Some(stored) = stored.get_mut(key) {
                    fill_nulls(stored, value);
                }
            }
        }
        (Value::Array(stored), Value::Array(printed)) => {
            for (stored, printed) in stored.iter_mut().zip(printed) {
                fill_nulls(stored, printed);
            }
        }
        _ => {}
    }
}

#[test]
fn schemas_are_listed_and_printed() {
    let place = Place::new();
    let names = place.run(&["schema"]).stdout;
    assert!(names.lines().count() >= 15, "{names}");
    for name in names.lines() {
        let printed: Value = serde_json::from_str(&place.run(&["schema", name]).stdout).unwrap();
        assert_eq!(printed, schema(name));
        assert_eq!(printed["title"], format!("inferometer.{name}/1"));
    }
    let refused = place.run(&["schema", "sumary"]);
    refused.assert_refused(&["choose calibration, capacity"]);
}

#[test]
fn a_wrong_object_is_found() {
    let form = schema("doctor");
    let validator = Validator { root: &form };
    let sound = serde_json::json!({
        "schema": "inferometer.doctor/1", "measured": "", "inferometer": "", "cpu": null,
        "cores": 2, "ceiling_tokens_per_s": 1.5, "ceiling_batched_tokens_per_s": 1, "errors": [],
    });
    assert_eq!(validator.check(&sound, &form), Ok(()));
    for (key, value) in [
        ("schema", Value::from("inferometer.doctor/2")),
        ("cores", Value::from(-1)),
        ("cores", Value::Null),
        ("errors", Value::from(vec![1])),
        ("further", Value::Null),
    ] {
        let mut wrong = sound.clone();
        wrong[key] = value;
        assert!(validator.check(&wrong, &form).is_err(), "{wrong}");
    }
}
