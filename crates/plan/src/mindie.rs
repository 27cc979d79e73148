//! MindIE's configuration file, with flags in their places.

use inferometer_catalog::engine::mindie::Config;
use inferometer_catalog::engine::{EngineKind, name_for};
use serde_json::Value;

/// The default of NPU_MEMORY_FRACTION.
const FRACTION: f64 = 0.8;

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
        if name == "NPU_MEMORY_FRACTION" {
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
    let places = [
        "/BackendConfig/ScheduleConfig",
        "/BackendConfig/ModelDeployConfig",
        "/BackendConfig/ModelDeployConfig/ModelConfig/0",
    ];
    let pointer = places
        .into_iter()
        .map(|place| format!("{place}/{name}"))
        .find(|pointer| config.pointer(pointer).is_some())?;
    config.pointer_mut(&pointer)
}
