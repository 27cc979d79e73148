//! Makes a find smaller while it still breaks its target in the same way.

/// Tries; each may be a process.
const MOST_TRIES: usize = 200;

pub fn shrink(input: Vec<u8>, mut breaks: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut best = input;
    let mut tries = 0;
    let mut part = best.len().div_ceil(2);
    while part > 0 {
        let mut at = 0;
        let mut smaller = false;
        while at < best.len() {
            let end = (at + part).min(best.len());
            let without = [&best[..at], &best[end..]].concat();
            if tries == MOST_TRIES {
                return best;
            }
            tries += 1;
            if breaks(&without) {
                best = without;
                smaller = true;
            } else {
                at = end;
            }
        }
        if !smaller || part > best.len() {
            part /= 2;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn what_breaks_is_left() {
        let input = [vec![b'a'; 500], b"<x>".to_vec(), vec![b'b'; 700]].concat();
        let breaks = |part: &[u8]| part.windows(3).any(|part| part == b"<x>");
        assert_eq!(shrink(input, breaks), b"<x>");
    }
}
