//! A choice for programs.

use super::{Choice, Deployment};
use crate::what_if::{Outcome, SizeBy, setting_json};
use serde_json::{Value, json};

pub const SCHEMA: &str = "inferometer.choice/1";

/// The form `inferometer.choice/1`; `verify` says how a deployment is measured.
pub fn to_json(choice: &Choice, size_by: SizeBy, verify: impl Fn(&Deployment) -> String) -> Value {
    let deployments = choice.deployments.iter();
    let deployments = deployments.map(|chosen| deployment(chosen, verify(chosen)));
    json!({
        "schema": SCHEMA,
        "size_by": size_by.into_str(),
        "deployments": deployments.collect::<Vec<_>>(),
        "considered": choice.considered,
        "refused": choice.refused,
        "never_met": choice.never_met,
        "too_few_cards": choice.too_few_cards,
        "only_by_estimate": choice.only_by_estimate,
        "simulated": choice.screened,
        "confirmed": choice.confirmed,
        "left_out": choice.left_out,
        "in_doubt": choice.in_doubt,
    })
}

fn deployment(chosen: &Deployment, verify: String) -> Value {
    let outcome = Outcome::Predicted(Box::new(chosen.prediction.clone()));
    let mut all = setting_json(&chosen.setting, &outcome);
    let own = json!({
        "replicas": chosen.replicas.count,
        "all_cards": chosen.cards(),
        "cost_per_hour": chosen.cost_per_hour,
        "cost_per_million_output_tokens": chosen.cost_per_million,
        "cost_per_million_interval": chosen.by_servers(chosen.cost_per_million),
        "most_joules_per_output_token": chosen.most_joules_per_token,
        "most_joules_interval": chosen.most_joules_per_token.map(|it| chosen.by_servers(it)),
        "headroom": chosen.headroom(),
        "headroom_interval": [chosen.least_headroom(), chosen.most_headroom().known()],
        "rate_per_replica": {
            "estimate": chosen.carried.estimate,
            "slow": chosen.carried.least,
            "fast": chosen.carried.most.known(),
        },
        "certain": chosen.is_certain(),
        "basis": chosen.grounds.basis,
        "validated_rows": chosen.grounds.rows,
        "command": chosen.command,
        "prefill_command": chosen.prefill_command,
        "processes": chosen.processes,
        "port": chosen.port,
        "workers": chosen.split.as_ref().map(|split| split.workers),
        "verify": verify,
        "curve": chosen.curve.iter().map(point).collect::<Vec<_>>(),
    });
    if let (Value::Object(all), Value::Object(own)) = (&mut all, own) {
        all.extend(own);
    }
    all
}

fn point(prediction: &crate::what_if::Prediction) -> Value {
    json!({
        "concurrency": super::streams(prediction),
        "output_tokens_per_s_per_card": super::per_card(prediction),
        "output_tokens_per_s_per_user": super::per_user(prediction),
    })
}
