use super::forms;
use super::{SCHEMAS, SchemaArguments, run};
use crate::command::compare::Kept;
use crate::generated::{Generated, check};
use inferometer_campaign::capacity::stored::{Capacity, SearchLine};
use inferometer_campaign::history::History;
use inferometer_campaign::study::StudyResult;
use inferometer_campaign::trial::Event;
use inferometer_compare::Comparison;
use inferometer_core::summary::Summary;
use inferometer_load::certificate::Certificate;
use inferometer_plan::calibrate::Calibration;
use inferometer_store::copies::UploadLog;
use inferometer_store::sweep_dir::SweepPlan;
use inferometer_workload::survey::Survey;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
}

/// The schema of a form, from the type that is printed.
fn written(name: &str) -> String {
    let schema = match name {
        "calibration" => of::<Calibration>(),
        "capacity" => of::<Capacity>(),
        "capacity-probes" => of::<SearchLine>(),
        "choice" => of::<forms::Choice>(),
        "compare" => of::<Comparison>(),
        "comparison" => of::<Kept>(),
        "data" => of::<Survey>(),
        "doctor" => of::<Certificate>(),
        "from" => of::<forms::From>(),
        "history" => of::<History>(),
        "import" => of::<forms::Import>(),
        "memory" => of::<forms::Memory>(),
        "prediction" => of::<forms::Prediction>(),
        "searcher" => of::<forms::Searcher>(),
        "study" => of::<StudyResult>(),
        "summary" => of::<Summary>(),
        "runs" => of::<forms::Runs>(),
        "sweep" => of::<forms::Sweep>(),
        "sweep-plan" => of::<SweepPlan>(),
        "trials" => of::<Event>(),
        "upload" => of::<UploadLog>(),
        "validation" => of::<forms::Validation>(),
        "what-if" => of::<forms::WhatIf>(),
        other => panic!("a type for {other}"),
    };
    let form = format!("inferometer.{name}/1");
    let mut schema = schema.to_value();
    schema["title"] = json!(form);
    name_form(&mut schema, name, &form);
    match name {
        "capacity" | "capacity-probes" | "trials" | "upload" => allow_sum(&mut schema),
        "import" => allow_sum(&mut schema["$defs"]["Stored"]),
        _ => {}
    }
    format!("{schema:#}\n")
}

/// The key `schema` (in lines `form`) of the objects of a form holds its name. A summary inside
/// has its own.
fn name_form(schema: &mut Value, name: &str, form: &str) {
    let nested = (name != "summary").then_some("inferometer.summary/1");
    let is_summary = |key: &str| ["Summary", "ImportedSummary"].contains(&key);
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        for (key, definition) in definitions {
            set(
                definition,
                nested.filter(|_| is_summary(key)).unwrap_or(form),
            );
        }
    }
    set(schema, form);
}

fn set(schema: &mut Value, form: &str) {
    for key in ["schema", "form"] {
        let place = format!("/properties/{key}");
        if let Some(property) = schema.pointer_mut(&place) {
            *property = json!({ "const": form });
        }
    }
    for list in ["anyOf", "oneOf"] {
        let alternatives = schema.get_mut(list).and_then(Value::as_array_mut);
        for alternative in alternatives.into_iter().flatten() {
            set(alternative, form);
        }
    }
}

/// Objects of the form have a checksum where they are stored.
fn allow_sum(schema: &mut Value) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let sum = json!({
            "description": "CRC-32 of the object without this member, in files.",
            "type": "string",
        });
        properties.insert("crc".to_owned(), sum);
    }
    for list in ["anyOf", "oneOf"] {
        let alternatives = schema.get_mut(list).and_then(Value::as_array_mut);
        alternatives.into_iter().flatten().for_each(allow_sum);
    }
}

#[test]
fn the_schemas_are_those_of_the_types() {
    let generated = SCHEMAS.map(|(name, current)| Generated {
        path: format!("schemas/{name}.json"),
        current: current.to_owned(),
        wanted: written(name),
    });
    check(&generated);
}

#[test]
fn a_form_is_found_by_its_short_and_by_its_whole_name() {
    let ask = |name: &str| {
        run(&SchemaArguments {
            name: Some(name.to_owned()),
        })
    };
    assert!(ask("summary").is_ok());
    assert!(ask("inferometer.summary/1").is_ok());
    let error = ask("sumary").unwrap_err().to_string();
    assert!(error.starts_with("'sumary' is not a form; choose calibration, capacity"));
}
