//! The few shapes of protobuf that OTLP needs, written.

#[derive(Default)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    pub(super) fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    pub(super) fn text(self, field: u64, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    pub(super) fn message(self, field: u64, value: Message) -> Self {
        self.bytes(field, &value.0)
    }

    pub(super) fn messages(self, field: u64, values: impl IntoIterator<Item = Message>) -> Self {
        let mut whole = self;
        for value in values {
            whole = whole.message(field, value);
        }
        whole
    }

    pub(super) fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    /// Eight bytes: times, counts and, by their bits, floating-point numbers.
    pub(super) fn fixed(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(super) fn double(self, field: u64, value: f64) -> Self {
        self.fixed(field, value.to_bits())
    }

    /// Many of eight bytes each, without their field between them.
    pub(super) fn packed(self, field: u64, values: impl Iterator<Item = u64>) -> Self {
        let bytes: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
        self.bytes(field, &bytes)
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
