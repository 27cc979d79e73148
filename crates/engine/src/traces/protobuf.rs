//! As much of protobuf's wire form as OTLP needs: the fields of a message, one after the other.

/// The value of a field. Those of 32 bits are passed over, since OTLP's traces have none that
/// matters here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
}

/// What cannot be a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The fields of a message with their numbers; ends with the first that is malformed.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    fn next_field(&mut self) -> Result<(u64, Option<Value<'a>>), Malformed> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Some(Value::Varint(self.varint()?)),
            1 => {
                let bytes = self.take(8)?.try_into().map_err(|_| Malformed)?;
                Some(Value::Fixed64(u64::from_le_bytes(bytes)))
            }
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                Some(Value::Bytes(self.take(length)?))
            }
            5 => {
                self.take(4)?;
                None
            }
            _ => return Err(Malformed),
        };
        Ok((key >> 3, value))
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first().ok_or(Malformed)?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            match self.next_field() {
                Ok((number, Some(value))) => return Some(Ok((number, value))),
                Ok((_, None)) => {}
                Err(malformed) => {
                    self.rest = &[];
                    return Some(Err(malformed));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_read_in_order_and_what_is_not_needed_is_passed_over() {
        let message = [
            0x08, 0x96, 0x01, // 1: 150
            0x15, 1, 2, 3, 4, // 2: 32 bits
            0x1a, 2, b'h', b'i', // 3: "hi"
            0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, // 4: 1.0
        ];
        let fields: Result<Vec<_>, _> = Fields::of(&message).collect();
        assert_eq!(
            fields.unwrap(),
            [
                (1, Value::Varint(150)),
                (3, Value::Bytes(b"hi")),
                (4, Value::Fixed64(1.0_f64.to_bits())),
            ]
        );
    }

    #[test]
    fn a_length_beyond_the_end_is_malformed() {
        let bad: [&[u8]; 4] = [
            &[0x0a, 5, 1],
            &[
                0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
            ],
            &[0xff; 12],
            &[0x0b],
        ];
        for bytes in bad {
            assert_eq!(Fields::of(bytes).last(), Some(Err(Malformed)), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_an_end(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Fields::of(&bytes).count() <= bytes.len());
        }
    }
}
