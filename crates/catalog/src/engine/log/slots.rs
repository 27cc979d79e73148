//! From the slots of a line to a fact, and back: they are called as its fields are.

use super::{Fact, Name};
use serde_json::{Map, Value, json};

pub(super) type Slots = Map<String, Value>;

/// The slot of a fact that is one text.
const IT: &str = "it";

/// The fact that a line's slots tell.
pub(super) fn fact(name: Name, mut slots: Slots) -> Option<Fact> {
    let word: &str = name.into();
    let told = match slots.remove(IT) {
        Some(text) => json!({ word: text }),
        None if slots.is_empty() => json!(word),
        None => json!({ word: slots }),
    };
    serde_json::from_value(told).ok()
}

/// What is known of a fact, by the names of its fields.
pub(super) fn slots(fact: &Fact) -> Slots {
    let Ok(Value::Object(told)) = serde_json::to_value(fact) else {
        return Slots::new();
    };
    let mut slots = match told.into_iter().next() {
        Some((_, Value::Object(fields))) => fields,
        Some((_, text)) => Slots::from_iter([(IT.to_owned(), text)]),
        None => Slots::new(),
    };
    slots.retain(|_, value| !value.is_null());
    slots
}
