//! A JSON object whose keys keep their order, spaced as Python spaces it.

#[derive(Default)]
pub(super) struct Object(Vec<String>);

impl Object {
    /// Adds a value that serde can write.
    pub(super) fn put(&mut self, key: &str, value: impl Into<serde_json::Value>) {
        let value = spaced(&value.into());
        self.0.push(format!("{}: {value}", spaced(&key.into())));
    }

    /// Adds a number that may be infinite, which Python writes as `Infinity` and a strict
    /// reader refuses.
    pub(super) fn put_unbounded(&mut self, key: &str, value: f64) {
        if value.is_infinite() {
            self.0.push(format!("{}: Infinity", spaced(&key.into())))
        } else {
            self.put(key, value)
        }
    }

    pub(super) fn from_pairs<'a>(
        pairs: impl IntoIterator<Item = (&'a str, serde_json::Value)>,
    ) -> Self {
        let mut object = Object::default();
        for (key, value) in pairs {
            object.put(key, value);
        }
        object
    }

    /// Adds an object whose keys keep their order too.
    pub(super) fn nest(&mut self, key: &str, object: Object) {
        let value = object.braced();
        self.0.push(format!("{}: {value}", spaced(&key.into())));
    }

    /// Adds a list of such objects.
    pub(super) fn nest_all(&mut self, key: &str, objects: impl IntoIterator<Item = Object>) {
        let objects: Vec<String> = objects.into_iter().map(|object| object.braced()).collect();
        let value = objects.join(", ");
        self.0.push(format!("{}: [{value}]", spaced(&key.into())));
    }

    fn braced(self) -> String {
        format!("{{{}}}", self.0.join(", "))
    }

    pub(super) fn finished(self) -> String {
        self.braced() + "\n"
    }
}

/// A value with a blank after commas and colons.
fn spaced(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Array(items) => {
            let items: Vec<String> = items.iter().map(spaced).collect();
            format!("[{}]", items.join(", "))
        }
        serde_json::Value::Object(entries) => {
            let entries: Vec<String> = (entries.iter())
                .map(|(key, value)| format!("{}: {}", spaced(&key.as_str().into()), spaced(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::object::*;

    #[test]
    fn keys_keep_their_order_and_text_is_escaped() {
        let mut object = Object::default();
        object.put("z", "say \"a\"");
        object.put_unbounded("rate", f64::INFINITY);
        object.put("a", vec![1.0, 0.5]);
        object.put("n", serde_json::Value::Null);
        assert_eq!(
            object.finished(),
            "{\"z\": \"say \\\"a\\\"\", \"rate\": Infinity, \"a\": [1.0, 0.5], \"n\": null}\n"
        );
    }
}
