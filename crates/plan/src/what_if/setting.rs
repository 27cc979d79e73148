//! Every combination of devices, flags and loads.

use super::question::{MOST_SETTINGS, Question, WhatIfError};
use crate::device::{Card, Timed};
use crate::flags::Flag;
use crate::work::{Load, MOST_REQUESTS};
use inferometer_catalog::engine::EngineKind;

#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The card, as it was named.
    pub device: String,
    pub engine: EngineKind,
    /// All flags, those of the calibration included.
    pub flags: Vec<Flag>,
    pub varied: Vec<Flag>,
    /// The load; absent: the greatest that meets the objectives.
    pub load: Option<Load>,
}

pub(super) fn settings(question: &Question<'_>) -> Result<Vec<(Setting, Card)>, WhatIfError> {
    let names = if question.cards.is_empty() {
        std::slice::from_ref(&question.calibration.device)
    } else {
        &question.cards
    };
    let mut all = Vec::new();
    for name in names {
        let card: Card = name.parse()?;
        if card.timed == Timed::MemoryOnly {
            return Err(WhatIfError::NoSpeed(name.clone()));
        }
        all.push((
            Setting {
                device: name.clone(),
                engine: question.calibration.engine,
                flags: question.calibration.base_flags(),
                varied: Vec::new(),
                load: None,
            },
            card,
        ));
    }
    if let Some(streams) = (question.loads.iter()).find_map(|load| load.too_many_streams()) {
        return Err(WhatIfError::TooManyStreams(streams));
    }
    if let Some(requests) = question.requests.filter(|&count| count > MOST_REQUESTS) {
        return Err(WhatIfError::TooManyRequests(requests));
    }
    let loads = question.loads.len().max(1);
    let axes = question.flags.iter().map(|(_, values)| values.len());
    let count = axes.fold(all.len().saturating_mul(loads), usize::saturating_mul);
    if count > MOST_SETTINGS {
        return Err(WhatIfError::TooMany(count));
    }
    for (name, values) in &question.flags {
        let each = |(setting, card): (Setting, Card)| {
            let values = values.iter().map(move |value| {
                let mut setting = setting.clone();
                setting.flags.retain(|(known, _)| known != name);
                setting.flags.push((name.clone(), value.clone()));
                setting.varied.push((name.clone(), value.clone()));
                (setting, card.clone())
            });
            values.collect::<Vec<_>>()
        };
        all = all.into_iter().flat_map(each).collect();
    }
    if question.loads.is_empty() {
        return Ok(all);
    }
    let each = |(setting, card): (Setting, Card)| {
        let loads = question.loads.iter().map(move |&load| {
            let load = Some(load);
            (
                Setting {
                    load,
                    ..setting.clone()
                },
                card.clone(),
            )
        });
        loads.collect::<Vec<_>>()
    };
    Ok(all.into_iter().flat_map(each).collect())
}
