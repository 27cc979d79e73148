//! Objects of JSON, whole files or lines of one, that carry a checksum, so that a bit that flips on
//! a disk is seen. The last member, `"crc"`, is the CRC-32 of the object without it, as zlib
//! computes it.
//!
//! Objects of older versions have none, and are read without.

const KEY: &[u8] = b",\"crc\":\"";
/// `,"crc":"0123abcd"}`
const MEMBER: usize = KEY.len() + 8 + 2;

/// Ends the object that begins at `start`: with its checksum and a line feed.
pub fn end_object(text: &mut Vec<u8>, start: usize) {
    let object = &text[start..];
    if object.len() > 2 && object.ends_with(b"}") {
        let sum = sum_of(object);
        text.pop();
        text.extend_from_slice(KEY);
        text.extend_from_slice(sum.as_bytes());
        text.extend_from_slice(b"\"}");
    }
    text.push(b'\n');
}

fn sum_of(object: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(object))
}

/// Follows the objects of a file from its first. Once one has a checksum, all that come later must.
#[derive(Clone, Copy, Debug, Default)]
pub struct SumCheck {
    summed: bool,
}

impl SumCheck {
    pub fn is_summed(&self) -> bool {
        self.summed
    }

    /// Takes the checksum off an object; false if the object is not as it was written.
    pub fn passes(&mut self, object: &mut Vec<u8>) -> bool {
        object.truncate(object.trim_ascii_end().len());
        let stated = object.len().checked_sub(MEMBER).and_then(|at| {
            let sum = object[at..].strip_prefix(KEY)?.strip_suffix(b"\"}")?;
            Some((at, sum.to_owned()))
        });
        let Some((at, sum)) = stated else {
            return !self.summed;
        };
        self.summed = true;
        object.truncate(at);
        object.push(b'}');
        sum == sum_of(object).as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &[u8] = br#"{"a":1,"b":"x"}"#;

    fn summed() -> Vec<u8> {
        let mut line = OBJECT.to_vec();
        end_object(&mut line, 0);
        line
    }

    #[test]
    fn the_checksum_is_that_of_zlib_and_the_line_stays_json() {
        let line = summed();
        // python3 -c "import zlib; print('%08x' % zlib.crc32(b'{\"a\":1,\"b\":\"x\"}'))"
        assert_eq!(line, b"{\"a\":1,\"b\":\"x\",\"crc\":\"f27f2754\"}\n");
        assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
        let mut read = line;
        assert!(SumCheck::default().passes(&mut read));
        assert_eq!(read, OBJECT);
    }

    #[test]
    fn no_flipped_bit_passes_unseen() {
        let (first, line) = (summed(), summed());
        for bit in 0..(line.len() - 1) * 8 {
            let mut check = SumCheck::default();
            assert!(check.passes(&mut first.clone()));
            let mut flipped = line.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!check.passes(&mut flipped), "bit {bit}");
        }
    }

    #[test]
    fn lines_of_older_versions_pass_until_one_has_a_checksum() {
        let mut check = SumCheck::default();
        assert!(check.passes(&mut OBJECT.to_vec()));
        assert!(check.passes(&mut summed()));
        assert!(!check.passes(&mut OBJECT.to_vec()));
    }
}
