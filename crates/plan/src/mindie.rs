//! MindIE's configuration file, with flags in their places.

use inferometer_catalog::engine::mindie::Config;
use inferometer_catalog::engine::{EngineKind, name_for};
use serde_json::Value;

/// The default of NPU_MEMORY_FRACTION.
const FRACTION: f64 = 0.8;
const FRACTION_NAME: &str = "NPU_MEMORY_FRACTION";

/// A file and what the environment sets beside it.
pub(crate) struct Configured {
    pub config: Config,
    pub fraction: f64,
}

/// A file for one model with the flags in it; `Err` says which flag makes no sense.
pub(crate) fn configured<'a>(
    mut config: Config,
    flags: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> Result<Configured, String> {
    let model = config.backend.deploy.models.first_mut();
    model.expect("the default has one model").world_size = 1;
    let bad = |error: serde_json::Error| error.to_string();
    let mut value = serde_json::to_value(&config).map_err(bad)?;
    let mut fraction = FRACTION;
    for (name, given) in flags {
        let name = name_for(EngineKind::Mindie, name);
        let given = given.unwrap_or("true");
        if name == FRACTION_NAME {
            let read = given.parse::<f64>().ok();
            fraction = read
                .filter(|read| *read > 0.0 && *read <= 1.0)
                .ok_or_else(|| {
                    format!("NPU_MEMORY_FRACTION is {given}, expected a share from 0 to 1")
                })?;
            continue;
        }
        let place = place(&mut value, name).ok_or_else(|| {
            format!("there is no setting '{name}'; its names are those of its config.json, such as maxSeqLen")
        })?;
        *place = serde_json::from_str(given).unwrap_or_else(|_| Value::from(given));
    }
    let mut config: Config = serde_json::from_value(value).map_err(bad)?;
    let models = &config.backend.deploy.models;
    let cards = models.first().map_or(1, |model| model.world_size);
    // The default template names four cards; ours are as many as share the model.
    config.backend.npu_device_ids = vec![(0..cards.min(1024)).collect()];
    Ok(Configured { config, fraction })
}

fn place<'a>(config: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    let pointer = pointer(config, name)?;
    config.pointer_mut(&pointer)
}

/// Where a setting of this name stands.
fn pointer(config: &Value, name: &str) -> Option<String> {
    let places = [
        "/BackendConfig/ScheduleConfig",
        "/BackendConfig/ModelDeployConfig",
        "/BackendConfig/ModelDeployConfig/ModelConfig/0",
    ];
    places
        .into_iter()
        .map(|place| format!("{place}/{name}"))
        .find(|pointer| config.pointer(pointer).is_some())
}

/// A command that writes these flags, the model and its cards into MindIE's file and starts it: it
/// takes no flags.
pub(crate) fn started(model: &str, flags: &[(String, Option<String>)]) -> String {
    const MODEL: &str = "BackendConfig.ModelDeployConfig.ModelConfig.0";
    let mut environment = String::new();
    let name = model.trim_end_matches('/').rsplit('/').next();
    let mut settings = vec![
        (format!("{MODEL}.modelName"), Value::from(name)),
        (format!("{MODEL}.modelWeightPath"), Value::from(model)),
    ];
    let given = flags.iter();
    let given = given.map(|(name, value)| (name.as_str(), value.as_deref()));
    let Ok(configured) = configured(Config::default(), given.clone()) else {
        return String::new();
    };
    let cards = &configured.config.backend.npu_device_ids;
    settings.push((
        "BackendConfig.npuDeviceIds".to_owned(),
        serde_json::json!(cards),
    ));
    let known = serde_json::to_value(&configured.config).unwrap_or_default();
    for (name, value) in given {
        let name = name_for(EngineKind::Mindie, name);
        if name == FRACTION_NAME {
            environment = format!("{name}={} ", value.unwrap_or_default());
        } else if let Some(pointer) = pointer(&known, name) {
            let place = pointer.trim_start_matches('/').replace('/', ".");
            settings.push((place, known.pointer(&pointer).cloned().unwrap_or_default()));
        }
    }
    let set = settings.iter().map(|(place, value)| {
        let place = place.replace(".0", "[0]");
        format!(".{place} = {value}")
    });
    let filter = set.collect::<Vec<_>>().join(" | ");
    let filter = inferometer_catalog::engine::words::join([filter]);
    format!(
        "jq {filter} conf/config.json > conf/planned.json && mv conf/planned.json conf/config.json && {environment}./bin/mindieservice_daemon"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_model_cards_and_every_setting() {
        let flags = [
            ("tensor-parallel-size", "4"),
            ("max-model-len", "2816"),
            ("gpu-memory-utilization", "0.9"),
        ];
        let flags = flags.map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
        let command = started("Qwen/Qwen3-32B", &flags);
        for said in [
            r#".BackendConfig.ModelDeployConfig.ModelConfig[0].modelName = "Qwen3-32B""#,
            r#"ModelConfig[0].modelWeightPath = "Qwen/Qwen3-32B""#,
            ".BackendConfig.npuDeviceIds = [[0,1,2,3]]",
            "ModelConfig[0].worldSize = 4",
            ".BackendConfig.ModelDeployConfig.maxSeqLen = 2816",
            "NPU_MEMORY_FRACTION=0.9 ./bin/mindieservice_daemon",
        ] {
            assert!(command.contains(said), "{said}: {command}");
        }
    }
}
