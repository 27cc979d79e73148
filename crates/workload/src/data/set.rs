//! Prompts from the rows that were taken from a data set.

use super::error::DataError;
use super::media;
use super::media_kind::MediaKind;
use super::row::{Picked, RowContent, Turn, TurnTokens};
use super::select::Selected;
use crate::{Content, Prompt, Prompts};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The rows of a data set as prompts, again from the first when they are used up.
#[derive(Clone, Debug)]
pub struct DataSet {
    rows: Vec<Picked>,
    /// Characters of each row's prompt; counting those of messages means parsing them.
    chars: Vec<u64>,
    distinct: u64,
    /// Rows that name media of this machine, and the folder that they are named from.
    local: HashSet<usize>,
    folder: PathBuf,
}

impl DataSet {
    /// Sends the rows of a selection. A trace holds no prompts; they are made from its rows.
    pub fn new(selected: Selected) -> Result<Self, DataError> {
        let rows = selected.rows;
        let lengths = |row: &&Picked| matches!(row.row.content, RowContent::Lengths { .. });
        if let Some(row) = rows.iter().find(lengths) {
            return Err(DataError::LengthsOnly { line: row.line });
        }
        let different: HashSet<&RowContent> = rows.iter().map(|row| &row.row.content).collect();
        let distinct = different.len() as u64;
        let chars = |row: &Picked| row.row.content.prompt_text().chars().count() as u64;
        Ok(DataSet {
            chars: rows.iter().map(chars).collect(),
            rows,
            distinct,
            local: HashSet::new(),
            folder: PathBuf::new(),
        })
    }

    /// Finds the media that rows name by their paths, so that one that is missing, or
    /// something else, is told before the first request.
    pub fn with_media_in(mut self, folder: &Path) -> Result<Self, DataError> {
        for (place, picked) in self.rows.iter().enumerate() {
            let json = match &picked.row.content {
                RowContent::Messages(json) | RowContent::Body(json) => json,
                _ => continue,
            };
            for (kind, file) in media::local_files(json) {
                if let Err(why) = media::check(kind, folder, &file) {
                    let path = folder.join(file.trim_start_matches("file://"));
                    let line = picked.line;
                    return Err(DataError::NoMedia {
                        line,
                        kind,
                        path,
                        why,
                    });
                }
                self.local.insert(place);
            }
        }
        self.folder = folder.to_owned();
        Ok(self)
    }

    /// Refuses rows without a sound whose bytes are here.
    pub fn only_sounds(self) -> Result<Self, DataError> {
        let sounds = |picked: &Picked| match &picked.row.content {
            RowContent::Messages(json) | RowContent::Body(json) => {
                let (held, elsewhere) = media::sounds::held_and_named(json);
                let files = media::local_files(json).into_iter();
                let local = files.filter(|(kind, _)| *kind == MediaKind::Sound);
                (held + local.count(), elsewhere)
            }
            _ => (0, 0),
        };
        for picked in &self.rows {
            let line = picked.line;
            match sounds(picked) {
                (1, 0) => {}
                (0, 1..) => return Err(DataError::SoundElsewhere { line }),
                (count, elsewhere) => {
                    let count = count + elsewhere;
                    return Err(DataError::NotOneSound { line, count });
                }
            }
        }
        Ok(self)
    }

    /// A file that went away meanwhile leaves the row as it is, which the server refuses.
    fn with_media(&self, session: u64, json: &Arc<str>) -> Arc<str> {
        if !self.local.contains(&self.place(session)) {
            return json.clone();
        }
        media::inlined(json, &self.folder).unwrap_or_else(|_| json.clone())
    }

    /// The rows in the order in which they are sent.
    pub fn rows(&self) -> &[Picked] {
        &self.rows
    }

    fn place(&self, session: u64) -> usize {
        (session % self.rows.len() as u64) as usize
    }

    fn row(&self, session: u64) -> &Picked {
        &self.rows[self.place(session)]
    }
}

impl Prompts for DataSet {
    fn turns(&self, session: u64) -> u32 {
        match &self.row(session).row.content {
            RowContent::Turns(turns) => u32::try_from(turns.len()).unwrap_or(u32::MAX),
            _ => 1,
        }
    }

    fn prompt(&self, session: u64, turn: u32) -> Prompt {
        let picked = self.row(session);
        let content = match &picked.row.content {
            RowContent::Turns(turns) => return prompt_of_turn(turns, &picked.turns, turn),
            RowContent::Text(text) => Content::Text(text.clone()),
            RowContent::Messages(json) => Content::Messages(self.with_media(session, json)),
            RowContent::Body(json) => Content::Body(self.with_media(session, json)),
            // Refused when the set was made.
            RowContent::Lengths { .. } => Content::default(),
        };
        Prompt {
            content,
            input_tokens: picked.prompt_tokens,
            chars: self.chars[self.place(session)],
            output_tokens: picked.asked(),
        }
    }

    fn output_tokens(&self, session: u64, turn: u32) -> Option<u32> {
        let picked = self.row(session);
        match &picked.row.content {
            RowContent::Turns(turns) => prompt_of_turn(turns, &picked.turns, turn).output_tokens,
            _ => picked.asked(),
        }
    }

    fn answer(&self, session: u64, turn: u32) -> Option<Arc<str>> {
        let row = &self.row(session).row;
        match &row.content {
            RowContent::Turns(turns) => turns.get(within(turn, turns.len()))?.answer.clone(),
            _ => row.reference.clone(),
        }
    }

    fn expected(&self, session: u64, turn: u32) -> Option<Arc<str>> {
        let expected = self.row(session).row.expected.clone();
        expected.or_else(|| self.answer(session, turn))
    }

    fn distinct(&self) -> Option<u64> {
        Some(self.distinct)
    }
}

/// A session of more turns than the data have begins their conversation again.
fn within(turn: u32, turns: usize) -> usize {
    turn as usize % turns.max(1)
}

fn prompt_of_turn(turns: &[Turn], counted: &[TurnTokens], turn: u32) -> Prompt {
    let place = within(turn, turns.len());
    let counted = counted.get(place);
    let user = turns.get(place).map(|turn| turn.user.clone());
    let answer = counted.and_then(|counted| counted.answer);
    Prompt {
        input_tokens: counted.and_then(|counted| counted.user),
        // An empty answer is nothing to ask for.
        output_tokens: answer.filter(|tokens| *tokens > 0),
        ..Prompt::of_text(user.unwrap_or_default())
    }
}
