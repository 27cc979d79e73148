//! The bytes of requests, in buffers that are used again once their request was sent.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Buffers whose requests were sent, up to so many bytes of them.
pub(crate) struct SpareBuffers {
    most_bytes: usize,
    state: Mutex<Buffers>,
}

#[derive(Default)]
struct Buffers {
    empty: Vec<Vec<u8>>,
    bytes: usize,
}

impl SpareBuffers {
    pub(crate) fn new(most_bytes: usize) -> Arc<Self> {
        Arc::new(SpareBuffers {
            most_bytes,
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, Buffers> {
        // Nothing that holds the lock can panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<u8> {
        let mut state = self.state();
        let buffer = state.empty.pop().unwrap_or_default();
        state.bytes -= buffer.capacity();
        buffer
    }

    fn put(&self, mut buffer: Vec<u8>) {
        let mut state = self.state();
        let bytes = state.bytes + buffer.capacity();
        if bytes <= self.most_bytes {
            buffer.clear();
            state.bytes = bytes;
            state.empty.push(buffer);
        }
    }
}

/// The bytes of a request.
#[derive(Default)]
pub struct RequestBytes {
    buffer: Vec<u8>,
    home: Option<Arc<SpareBuffers>>,
}

impl RequestBytes {
    /// Empty bytes, in a buffer that served before if there is one.
    pub(crate) fn reusing(spare: &Arc<SpareBuffers>) -> Self {
        RequestBytes {
            buffer: spare.take(),
            home: Some(Arc::clone(spare)),
        }
    }

    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }
}

impl Deref for RequestBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for RequestBytes {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            home.put(std::mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_serve_again_as_far_as_they_do_not_hold_much_memory() {
        let spare = SpareBuffers::new(2_000);
        let bytes = |length| {
            let mut bytes = RequestBytes::reusing(&spare);
            bytes.buffer().resize(length, 7);
            bytes
        };
        let first = bytes(1_000);
        let was = first.as_ptr();
        drop(first);
        let again = bytes(900);
        assert_eq!(again.as_ptr(), was);
        let many: Vec<RequestBytes> = (0..100).map(|_| bytes(100)).collect();
        drop((many, again, bytes(5_000)));
        let state = spare.state();
        let held: usize = state.empty.iter().map(Vec::capacity).sum();
        assert_eq!(held, state.bytes);
        assert!((1_000..=2_000).contains(&held), "{held}");
        assert!(state.empty.iter().all(Vec::is_empty));
    }
}
