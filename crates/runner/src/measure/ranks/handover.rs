//! How what the other ranks recorded comes to rank 0 once the load is over.

use super::{PATIENCE, heard, said};
use crate::error::{Context as _, RunnerError, bail};
use inferometer_core::environment::{EndCause, Ending, RankEnding};
use inferometer_core::quantile;
use inferometer_meet::{Gone, Heard, Leader, Member};
use inferometer_store::run_dir::RunDir;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

/// Bytes of a file that are sent at once.
const PIECE: usize = 1 << 20;

/// What rank 0 says when the load is over.
#[derive(Debug, Serialize, Deserialize)]
enum AfterLoad {
    /// Send what you recorded.
    Collect,
    /// All of it is here.
    Kept,
}

/// Announces the files of a rank, which follow in pieces.
#[derive(Debug, Serialize, Deserialize)]
struct Recorded {
    records: u64,
    answers: u64,
    lag_p99_ms: Option<f64>,
    clock_moved_ns: i64,
    clock_error_ns: u64,
}

/// Sends what was recorded, when rank 0 asks for it.
pub(super) fn hand_over(member: &mut Member, directory: &RunDir) -> Result<(), RunnerError> {
    let AfterLoad::Collect = heard(member, PATIENCE)? else {
        bail!("rank 0 does not ask for what was recorded");
    };
    let first = member.compared();
    let again = member.compare();
    let again = again.map_err(|gone| RunnerError::Message(format!("rank 0: {gone}")))?;
    let (records, answers) = (directory.parquet_path(), directory.answers_path());
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    said(member.say(&Recorded {
        records: length(&records),
        answers: length(&answers),
        lag_p99_ms: lag_p99_ms(directory)?,
        clock_moved_ns: again.ahead_ns - first.ahead_ns,
        clock_error_ns: again.error_ns,
    }))?;
    for path in [records, answers] {
        if path.exists() {
            send(member, &path)?;
        }
    }
    match heard(member, PATIENCE)? {
        AfterLoad::Kept => Ok(()),
        AfterLoad::Collect => bail!("rank 0 asks twice for what was recorded"),
    }
}

fn send(member: &Member, path: &Path) -> Result<(), RunnerError> {
    let failed = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(failed)?;
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece).with_context(failed)? {
            0 => return Ok(()),
            count => said(member.send_piece(&piece[..count]))?,
        }
    }
}

/// Brings the records of the other ranks here. One that is lost on the way makes the run what it
/// is without it.
pub(in crate::measure) fn collect(
    leader: &mut Leader,
    directory: &RunDir,
    ending: &mut Ending,
) -> Result<(), RunnerError> {
    // As yet there are no records here but our own.
    if let Some(own) = ending.ranks.first_mut() {
        own.lag_p99_ms = lag_p99_ms(directory)?;
    }
    for at in 0..ending.ranks.len() {
        let RankEnding { rank, lost, .. } = &ending.ranks[at];
        let rank = *rank;
        if rank == 0 || lost.is_some() {
            continue;
        }
        leader.tell(rank, &AfterLoad::Collect);
        match collect_from(leader, rank, directory)? {
            Ok(recorded) => {
                let of_rank = &mut ending.ranks[at];
                of_rank.lag_p99_ms = recorded.lag_p99_ms;
                of_rank.clock_moved_ns = Some(recorded.clock_moved_ns);
                of_rank.clock_error_ns = Some(recorded.clock_error_ns);
                leader.tell(rank, &AfterLoad::Kept);
            }
            Err(gone) => {
                ending.ranks[at].lost = Some(gone.to_string());
                if ending.cause == EndCause::Complete {
                    ending.cause = EndCause::RankLost;
                }
            }
        }
    }
    Ok(())
}

/// The files of one rank; what goes wrong here is an error, what goes wrong there makes it lost.
fn collect_from(
    leader: &mut Leader,
    rank: u32,
    directory: &RunDir,
) -> Result<Result<Recorded, Gone>, RunnerError> {
    let failed = |path: &Path| format!("cannot write {}", path.display());
    let mut coming: Option<(Recorded, u64)> = None;
    let mut records = None;
    let answers_path = directory.answers_path();
    loop {
        if let Some(gone) = leader.gone(rank) {
            return Ok(Err(gone.clone()));
        }
        let Some((from, heard)) = leader.hear::<Recorded>(PATIENCE) else {
            return Ok(Err(Gone::Lost("it sent nothing".to_owned())));
        };
        if from != rank {
            // One that goes away meanwhile is known to be gone when it is its turn.
            continue;
        }
        match (heard, &mut coming) {
            (Heard::Said(recorded), None) => {
                records = Some(directory.receive(rank)?);
                coming = Some((recorded, 0));
            }
            (Heard::Piece(bytes), Some((recorded, came))) => {
                let left = recorded
                    .records
                    .saturating_sub(*came)
                    .min(bytes.len() as u64);
                let (of_records, of_answers) = bytes.split_at(left as usize);
                if let Some(records) = &mut records {
                    records.push(of_records)?;
                }
                if !of_answers.is_empty() {
                    let mut file = OpenOptions::new();
                    let file = file.append(true).create(true).open(&answers_path);
                    (file.and_then(|mut file| file.write_all(of_answers)))
                        .with_context(|| failed(&answers_path))?;
                }
                *came += bytes.len() as u64;
            }
            (Heard::Gone(gone), _) => return Ok(Err(gone)),
            (Heard::Said(_), Some(_)) | (Heard::Piece(_), None) => {
                return Ok(Err(Gone::Lost("it sent what was not asked for".to_owned())));
            }
        }
        if let Some((recorded, _)) = coming
            .take_if(|(recorded, came)| *came >= recorded.records.saturating_add(recorded.answers))
        {
            if let Some(records) = records.take() {
                records.finish()?;
            }
            return Ok(Ok(recorded));
        }
    }
}

/// How late the requests of a rank were sent.
fn lag_p99_ms(directory: &RunDir) -> Result<Option<f64>, RunnerError> {
    let mut lags = Vec::new();
    for record in directory.records()? {
        let record = record?;
        let lag = record.lag().filter(|_| record.is_measured());
        lags.extend(lag.map(|lag| lag.as_secs_f64() * 1e3));
    }
    quantile::sort(&mut lags);
    Ok(quantile::quantile(&lags, 0.99))
}
