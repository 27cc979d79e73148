//! MindIE's configuration file, with flags in their places.

use crate::flags::{self, Flag};
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

const MODEL: &str = "BackendConfig.ModelDeployConfig.ModelConfig[0]";

/// Commands that write these flags, the model and its cards into MindIE's file and start it: it
/// takes no flags.
pub(crate) fn started(model: &str, flags: &[Flag]) -> String {
    let Some(Written { settings, fraction }) = written(model, flags) else {
        return String::new();
    };
    let fraction = fraction.map_or(String::new(), |it| format!("{FRACTION_NAME}={it} "));
    format!(
        "{} && {fraction}./bin/mindieservice_daemon",
        edited("conf/config.json", &settings)
    )
}

/// Commands that start so many workers of two kinds with all their cards on one host, in the folder
/// of MindIE Motor's scripts for Kubernetes.
pub(crate) fn started_apart(model: &str, flags: &[Flag], [x, y]: [u32; 2]) -> String {
    let Some(written) = written(model, flags) else {
        return String::new();
    };
    let each = flags::cards(EngineKind::Mindie, flags);
    let mut settings = written.settings;
    settings.push(("ServerConfig.inferMode".to_owned(), Value::from("dmi")));
    settings.push((format!("{MODEL}.tp"), Value::from(each)));
    let apart = || {
        let mode = Value::from("pd_disaggregation_single_container");
        ("deploy_mode".to_owned(), mode)
    };
    let ratio = [("default_p_rate", x), ("default_d_rate", y)];
    let ratio = ratio.map(|(name, count)| (name.to_owned(), Value::from(count)));
    let controller: Vec<_> = [apart()].into_iter().chain(ratio).collect();
    let mut commands = vec![
        edited("conf/config.json", &settings),
        edited("conf/ms_controller.json", &controller),
        edited("conf/ms_coordinator.json", &[apart()]),
        format!(
            r"sed -i 's/\(huawei.com\/Ascend910: *\)[0-9]*/\1{}/' deployment/mindie_service_single_container.yaml",
            each * (x + y)
        ),
    ];
    if let Some(fraction) = written.fraction {
        commands.push(format!(
            "sed -i '1a export {FRACTION_NAME}={fraction}' boot_helper/boot.sh"
        ));
    }
    commands.push("bash deploy.sh".to_owned());
    commands.join(" && ")
}

/// What is to stand in MindIE's file, by place, and the share of memory that the environment sets.
struct Written {
    settings: Vec<(String, Value)>,
    fraction: Option<String>,
}

fn written(model: &str, flags: &[Flag]) -> Option<Written> {
    let name = model.trim_end_matches('/').rsplit('/').next();
    let given = flags.iter();
    let given = given.map(|(name, value)| (name.as_str(), value.as_deref()));
    let configured = configured(Config::default(), given.clone()).ok()?;
    let cards = &configured.config.backend.npu_device_ids;
    let mut fraction = None;
    let mut settings = vec![
        (format!("{MODEL}.modelName"), Value::from(name)),
        (format!("{MODEL}.modelWeightPath"), Value::from(model)),
        // Addresses that go with this command begin with http.
        ("ServerConfig.httpsEnabled".to_owned(), Value::from(false)),
        (
            "BackendConfig.npuDeviceIds".to_owned(),
            serde_json::json!(cards),
        ),
    ];
    let known = serde_json::to_value(&configured.config).unwrap_or_default();
    for (name, value) in given {
        let name = name_for(EngineKind::Mindie, name);
        if name == FRACTION_NAME {
            fraction = value.map(str::to_owned);
        } else if let Some(pointer) = pointer(&known, name) {
            let place = pointer.trim_start_matches('/').replace('/', ".");
            let place = place.replace(".0", "[0]");
            settings.push((place, known.pointer(&pointer).cloned().unwrap_or_default()));
        }
    }
    Some(Written { settings, fraction })
}

/// Commands that change a file of JSON in its place.
fn edited(file: &str, settings: &[(String, Value)]) -> String {
    let set = settings.iter();
    let set = set.map(|(place, value)| format!(".{place} = {value}"));
    let filter = inferometer_catalog::engine::words::join([set.collect::<Vec<_>>().join(" | ")]);
    format!("jq {filter} {file} > conf/planned.json && mv conf/planned.json {file}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::given;

    #[test]
    fn the_command_names_model_cards_and_every_setting() {
        let flags = given(&[
            ("tensor-parallel-size", "4"),
            ("max-model-len", "2816"),
            ("gpu-memory-utilization", "0.9"),
        ]);
        let command = started("Qwen/Qwen3-32B", &flags);
        for said in [
            r#".BackendConfig.ModelDeployConfig.ModelConfig[0].modelName = "Qwen3-32B""#,
            r#"ModelConfig[0].modelWeightPath = "Qwen/Qwen3-32B""#,
            ".BackendConfig.npuDeviceIds = [[0,1,2,3]]",
            ".ServerConfig.httpsEnabled = false",
            "ModelConfig[0].worldSize = 4",
            ".BackendConfig.ModelDeployConfig.maxSeqLen = 2816",
            "NPU_MEMORY_FRACTION=0.9 ./bin/mindieservice_daemon",
        ] {
            assert!(command.contains(said), "{said}: {command}");
        }
    }

    #[test]
    fn workers_of_two_kinds_are_told_apart_by_the_files_of_their_host() {
        let flags = given(&[
            ("tensor-parallel-size", "2"),
            ("NPU_MEMORY_FRACTION", "0.9"),
        ]);
        let command = started_apart("Qwen/Qwen3-32B", &flags, [1, 3]);
        for said in [
            r#".ServerConfig.inferMode = "dmi""#,
            "ModelConfig[0].tp = 2",
            ".default_p_rate = 1 | .default_d_rate = 3' conf/ms_controller.json",
            r#"jq '.deploy_mode = "pd_disaggregation_single_container"' conf/ms_coordinator.json"#,
            r"/\18/' deployment/mindie_service_single_container.yaml",
            "export NPU_MEMORY_FRACTION=0.9' boot_helper/boot.sh && bash deploy.sh",
        ] {
            assert!(command.contains(said), "{said}: {command}");
        }
    }
}
