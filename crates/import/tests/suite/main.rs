//! Other tools' results, as files and notes hold them.

#![allow(clippy::unwrap_used)]

mod evalscope;
mod flags;
mod grids;
mod habits;
mod hand_made;
mod hostile;
mod meaning;
mod peers;
mod peers_folders;
mod peers_later;
mod remarks;
mod sections;
mod settings;
mod sources;
mod tools;
mod unread;
mod variants;
