//! What goes with the text of a request.

use crate::sound::Sound;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Its URL, which may hold it.
    Image(Arc<str>),
    /// Likewise.
    Video(Arc<str>),
    Sound(Sound),
}

impl Medium {
    pub fn as_sound(&self) -> Option<&Sound> {
        match self {
            Medium::Sound(sound) => Some(sound),
            Medium::Image(_) | Medium::Video(_) => None,
        }
    }
}
