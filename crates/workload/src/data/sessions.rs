//! The requests of a trace as sessions: which of them wait for which, and that none waits for
//! itself.

use super::error::DataError;
use super::row::{Link, Picked, RowContent};
use crate::TraceRow;
use inferometer_core::work::{Follows, Wait};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The requests of a trace, session by session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grouped {
    /// Those of a session follow each other, none before one that it waits for.
    pub rows: Vec<TraceRow>,
    /// Where each session begins.
    pub begins: Vec<usize>,
    /// When each session begins, from the first on.
    pub arrivals: Vec<Duration>,
    /// When each request was sent, from the first on.
    pub times: Vec<Duration>,
}

/// Brings together what belongs together; sessions are in the order of their beginnings.
pub fn grouped(picked: &[Picked], path: &Path) -> Result<Grouped, DataError> {
    let mut grouped = Grouped::default();
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut sessions: Vec<Vec<usize>> = Vec::new();
    for (place, picked) in picked.iter().enumerate() {
        match link(picked) {
            Some(link) => {
                let session = *places.entry(link.session).or_insert(sessions.len());
                match sessions.get_mut(session) {
                    Some(members) => members.push(place),
                    None => sessions.push(vec![place]),
                }
            }
            None => sessions.push(vec![place]),
        }
    }
    let began = picked.first().map_or(Duration::ZERO, time);
    for members in &sessions {
        let order = in_order(members, picked, path)?;
        let first = order
            .first()
            .map_or(Duration::ZERO, |turn| time(&picked[turn.place]));
        grouped.begins.push(grouped.rows.len());
        grouped.arrivals.push(first.saturating_sub(began));
        for turn in order {
            grouped
                .times
                .push(time(&picked[turn.place]).saturating_sub(began));
            grouped.rows.extend(row(&picked[turn.place], turn.follows));
        }
    }
    Ok(grouped)
}

fn link(picked: &Picked) -> Option<&Arc<Link>> {
    match &picked.row.content {
        RowContent::Lengths { link, .. } => link.as_ref(),
        _ => None,
    }
}

fn time(picked: &Picked) -> Duration {
    match picked.row.content {
        RowContent::Lengths { at, .. } => at,
        _ => Duration::ZERO,
    }
}

fn row(picked: &Picked, follows: Option<Follows>) -> Option<TraceRow> {
    let RowContent::Lengths {
        input_tokens,
        blocks,
        block_tokens,
        ..
    } = &picked.row.content
    else {
        return None;
    };
    Some(TraceRow {
        input_tokens: *input_tokens,
        output_tokens: picked.row.output_tokens,
        blocks: Arc::clone(blocks),
        block_tokens: *block_tokens,
        follows,
    })
}

struct Ordered {
    place: usize,
    follows: Option<Follows>,
}

/// The requests of a session by their time, but none before one that it waits for. Those that the
/// trace does not hold are not waited for.
fn in_order(members: &[usize], picked: &[Picked], path: &Path) -> Result<Vec<Ordered>, DataError> {
    if let [place] = members {
        let place = *place;
        let own = link(&picked[place]).filter(|link| link.after.contains(&link.id));
        return match own {
            Some(_) => Err(circle(path, picked[place].line)),
            None => Ok(vec![Ordered {
                place,
                follows: None,
            }]),
        };
    }
    let links: Vec<&Arc<Link>> = members
        .iter()
        .filter_map(|place| link(&picked[*place]))
        .collect();
    let by_id: HashMap<u64, usize> = links
        .iter()
        .enumerate()
        .map(|(n, link)| (link.id, n))
        .collect();
    let before: Vec<Vec<usize>> = links
        .iter()
        .map(|link| {
            link.after
                .iter()
                .filter_map(|id| by_id.get(id).copied())
                .collect()
        })
        .collect();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); members.len()];
    let mut missing: Vec<usize> = before.iter().map(Vec::len).collect();
    for (member, before) in before.iter().enumerate() {
        before
            .iter()
            .for_each(|earlier| next[*earlier].push(member));
    }
    let at = |member: usize| time(&picked[members[member]]);
    let ready = (0..members.len()).filter(|member| missing[*member] == 0);
    let mut ready: BinaryHeap<_> = ready.map(|member| Reverse((at(member), member))).collect();
    let mut turns = vec![None; members.len()];
    let mut ordered = Vec::with_capacity(members.len());
    while let Some(Reverse((_, member))) = ready.pop() {
        turns[member] = Some(ordered.len() as u32);
        let after: Arc<[u32]> = before[member]
            .iter()
            .filter_map(|earlier| turns[*earlier])
            .collect();
        let wait = match (after.is_empty(), ordered.is_empty()) {
            // What it waited for is not part of the trace, or began before it.
            (true, true) => Wait::SinceEnd(Duration::ZERO),
            (true, false) => {
                let first: &Ordered = &ordered[0];
                Wait::SinceStart(at(member).saturating_sub(time(&picked[first.place])))
            }
            (false, _) => links[member].wait,
        };
        ordered.push(Ordered {
            place: members[member],
            follows: Some(Follows { after, wait }),
        });
        for later in &next[member] {
            missing[*later] -= 1;
            if missing[*later] == 0 {
                ready.push(Reverse((at(*later), *later)));
            }
        }
    }
    match (0..members.len()).find(|member| turns[*member].is_none()) {
        Some(member) => Err(circle(path, picked[members[member]].line)),
        None => Ok(ordered),
    }
}

fn circle(path: &Path, line: u64) -> DataError {
    DataError::Circle {
        path: path.to_owned(),
        line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::row::Row;

    fn picked(line: u64, at_s: u64, session: u64, id: u64, after: &[u64]) -> Picked {
        let content = RowContent::Lengths {
            at: Duration::from_secs(at_s),
            input_tokens: 10 + id as u32,
            blocks: Arc::default(),
            block_tokens: 16,
            link: Some(Arc::new(Link {
                session,
                id,
                after: after.into(),
                wait: Wait::SinceEnd(Duration::from_secs(1)),
            })),
        };
        Picked {
            row: Row {
                content,
                output_tokens: Some(3),
                ..Row::of_text("")
            },
            line,
            prompt_tokens: None,
            reference_tokens: None,
            turns: Box::default(),
        }
    }

    #[test]
    fn requests_come_after_those_they_wait_for_and_sessions_in_their_order() {
        let rows = [
            picked(1, 5, 1, 1, &[]),
            picked(2, 6, 2, 2, &[99]),
            picked(3, 7, 1, 4, &[3]),
            picked(4, 8, 1, 3, &[1]),
            picked(5, 9, 1, 5, &[1, 4]),
        ];
        let found = grouped(&rows, "t".as_ref()).unwrap();
        assert_eq!(found.begins, [0, 4]);
        assert_eq!(found.arrivals, [Duration::ZERO, Duration::from_secs(1)]);
        let lengths: Vec<u32> = found.rows.iter().map(|row| row.input_tokens).collect();
        assert_eq!(lengths, [11, 13, 14, 15, 12]);
        let after = |place: usize| {
            found.rows[place]
                .follows
                .as_ref()
                .map(|it| it.after.to_vec())
        };
        assert_eq!(after(3), Some(vec![0, 2]));
        assert_eq!(after(4), None);
    }

    #[test]
    fn a_circle_is_refused_with_a_line_of_it() {
        let circle = [
            picked(1, 0, 1, 1, &[]),
            picked(2, 1, 1, 2, &[3]),
            picked(3, 2, 1, 3, &[2]),
        ];
        let said = grouped(&circle, "t.jsonl".as_ref())
            .unwrap_err()
            .to_string();
        assert!(said.contains("circle") && said.contains("line 2"), "{said}");
        assert!(grouped(&[picked(7, 0, 1, 1, &[1])], "t".as_ref()).is_err());
    }
}
