//! What the launcher of a job says: which rank of how many this process is, and where rank 0 may
//! be found. A pure function of the environment.

use crate::Terms;

/// Which rank of how many a process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rank {
    pub rank: u32,
    pub of: u32,
    /// Where rank 0 listens.
    pub meet: String,
    /// The launcher's job, so that two of them do not meet by mistake.
    pub job: String,
}

impl Rank {
    pub fn terms(&self, version: &str) -> Terms {
        Terms {
            version: version.to_owned(),
            of: self.of,
            job: self.job.clone(),
        }
    }
}

/// What a user says; it wins over the launcher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    pub rank: Option<u32>,
    pub of: Option<u32>,
    pub meet: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LauncherError {
    #[error("--rank {rank} is none of {of}; ranks count from 0 to {}", .of - 1)]
    OutOfRange { rank: u32, of: u32 },
    #[error("--of 0 is no number of ranks; give how many there are")]
    NoRanks,
    #[error(
        "--{given} needs --{missing} as well, since no launcher says it (Slurm, MPI or an Indexed Job)"
    )]
    Alone {
        given: &'static str,
        missing: &'static str,
    },
    #[error(
        "this is rank {rank} of {of}, but nothing says where rank 0 is; give --meet HOST:PORT, the same to all ranks"
    )]
    NowhereToMeet { rank: u32, of: u32 },
    #[error("{variable}={value} is no number; it is set by the launcher")]
    NoNumber { variable: String, value: String },
}

/// Ports that rank 0 may listen on where a job chooses: below those that systems give out.
const FIRST_PORT: u64 = 20_000;
const PORTS: u64 = 12_000;

/// The rank that this process is; absent where there is but one.
pub fn find(
    given: &Given,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Rank>, LauncherError> {
    let launched = launched(&variable)?;
    if given.of == Some(0) {
        return Err(LauncherError::NoRanks);
    }
    let rank = given.rank.or(launched.rank);
    let of = given.of.or(launched.of);
    let alone = |given, missing| Err(LauncherError::Alone { given, missing });
    let (rank, of) = match (rank, of) {
        (Some(rank), Some(of)) => (rank, of),
        // An index alone is that of any task of an array.
        (None, None) if given.meet.is_none() => return Ok(None),
        (Some(_), None) if given.rank.is_none() && given.meet.is_none() => return Ok(None),
        (None, Some(1)) => return Ok(None),
        (None, None) => return alone("meet", "rank"),
        (Some(_), None) if given.rank.is_some() => return alone("rank", "of"),
        (Some(_), None) => return alone("meet", "of"),
        (None, Some(_)) => return alone("of", "rank"),
    };
    if rank >= of {
        return Err(LauncherError::OutOfRange { rank, of });
    }
    if of == 1 {
        return Ok(None);
    }
    let meet = given.meet.clone().or(launched.meet);
    let meet = meet.ok_or(LauncherError::NowhereToMeet { rank, of })?;
    let job = launched.job.unwrap_or_default();
    Ok(Some(Rank {
        rank,
        of,
        meet,
        job,
    }))
}

/// What a launcher says, as far as it does.
#[derive(Debug, Default)]
struct Launched {
    rank: Option<u32>,
    of: Option<u32>,
    meet: Option<String>,
    job: Option<String>,
}

fn launched(variable: &impl Fn(&str) -> Option<String>) -> Result<Launched, LauncherError> {
    let text = |name: &str| variable(name).filter(|value| !value.is_empty());
    let number = |name: &str| match text(name) {
        None => Ok(None),
        Some(value) => match value.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(LauncherError::NoNumber {
                variable: name.to_owned(),
                value,
            }),
        },
    };
    // Open MPI and MPICH first: a launcher of theirs may itself run inside a job of Slurm.
    let (rank, of) = (
        number("OMPI_COMM_WORLD_RANK")?,
        number("OMPI_COMM_WORLD_SIZE")?,
    );
    if rank.is_some() && of.is_some() {
        let job = text("PMIX_NAMESPACE").or_else(|| text("OMPI_MCA_ess_base_jobid"));
        let all_here = number("OMPI_COMM_WORLD_LOCAL_SIZE")? == of;
        return Ok(Launched {
            rank,
            of,
            meet: all_here.then(|| format!("127.0.0.1:{}", port(job.as_deref()))),
            job: job.map(|job| format!("mpi {job}")),
        });
    }
    // Only a step has tasks: the script of a batch job has the number of them, too, and is none.
    if let (Some(rank), Some(of)) = (number("SLURM_PROCID")?, number("SLURM_STEP_NUM_TASKS")?) {
        let step = [text("SLURM_JOB_ID"), text("SLURM_STEP_ID")].map(Option::unwrap_or_default);
        let step = step.join(".");
        let host = match number("SLURM_STEP_NUM_NODES")? {
            Some(1) => Some("127.0.0.1".to_owned()),
            _ => text("SLURM_STEP_NODELIST").and_then(|list| first_host(&list)),
        };
        return Ok(Launched {
            rank: Some(rank),
            of: Some(of),
            meet: host.map(|host| format!("{host}:{}", port(Some(&step)))),
            job: Some(format!("slurm {step}")),
        });
    }
    if let (Some(rank), Some(of)) = (number("PMI_RANK")?, number("PMI_SIZE")?) {
        let job = text("PMI_JOBID").or_else(|| text("PMI_ID"));
        let all_here = number("MPI_LOCALNRANKS")? == Some(of);
        return Ok(Launched {
            rank: Some(rank),
            of: Some(of),
            meet: all_here.then(|| format!("127.0.0.1:{}", port(job.as_deref()))),
            job: None,
        });
    }
    // An Indexed Job does not say how many it has.
    Ok(Launched {
        rank: number("JOB_COMPLETION_INDEX")?,
        ..Launched::default()
    })
}

/// A port that is the job's own as far as may be.
fn port(job: Option<&str>) -> u64 {
    // FNV-1a: the same on every host and in every version.
    let bytes = job.unwrap_or_default().bytes();
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    FIRST_PORT + hash % PORTS
}

/// The first host of Slurm's list: of `node[07-10,12],login` it is `node07`.
fn first_host(list: &str) -> Option<String> {
    let Some((before, rest)) = list
        .split_once('[')
        .filter(|(before, _)| !before.contains(','))
    else {
        return list
            .split(',')
            .next()
            .map(str::trim)
            .filter(|host| !host.is_empty())
            .map(str::to_owned);
    };
    let (numbers, after) = rest.split_once(']')?;
    let first = numbers.split([',', '-']).next()?;
    // Further brackets name further dimensions of the host's name.
    let after = after.split(',').next()?;
    first_host(&format!("{before}{first}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn found(given: Given, variables: &[(&str, &str)]) -> Result<Option<Rank>, LauncherError> {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        find(&given, |name| {
            variables.get(name).map(|value| (*value).to_owned())
        })
    }

    fn launched(variables: &[(&str, &str)]) -> Option<Rank> {
        found(Given::default(), variables).unwrap()
    }

    const STEP: [(&str, &str); 6] = [
        ("SLURM_PROCID", "3"),
        ("SLURM_NTASKS", "8"),
        ("SLURM_STEP_NUM_TASKS", "8"),
        ("SLURM_STEP_NUM_NODES", "2"),
        ("SLURM_STEP_NODELIST", "gpu[07-08]"),
        ("SLURM_JOB_ID", "4711"),
    ];

    #[test]
    fn a_task_of_a_slurm_step_finds_rank_0_on_the_first_node() {
        let rank = launched(&STEP).unwrap();
        assert_eq!((rank.rank, rank.of), (3, 8));
        assert!(
            rank.meet.starts_with("gpu07:2") || rank.meet.starts_with("gpu07:3"),
            "{rank:?}"
        );
        assert_eq!(rank.job, "slurm 4711.");
        // The script of a batch job knows the number of tasks, but is none of them.
        assert_eq!(launched(&STEP[..2]), None);
        let mut one = STEP;
        one[0].1 = "0";
        one[2].1 = "1";
        assert_eq!(launched(&one), None, "one task is a plain run");
    }

    #[test]
    fn mpi_and_indexed_jobs_are_known_and_what_is_typed_wins() {
        let mpi = [
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
            ("PMIX_NAMESPACE", "prterun-host-12@1"),
        ];
        let rank = launched(&mpi).unwrap();
        assert_eq!((rank.rank, rank.of), (1, 4));
        assert!(rank.meet.starts_with("127.0.0.1:"));
        let elsewhere = found(Given::default(), &mpi[..2]);
        assert_eq!(
            elsewhere,
            Err(LauncherError::NowhereToMeet { rank: 1, of: 4 })
        );
        let typed = Given {
            rank: Some(2),
            of: Some(3),
            meet: Some("h:1".to_owned()),
        };
        let rank = found(typed, &mpi).unwrap().unwrap();
        assert_eq!((rank.rank, rank.of, rank.meet.as_str()), (2, 3, "h:1"));
        // An index without their number is that of any job array.
        let index = [("JOB_COMPLETION_INDEX", "5")];
        assert_eq!(launched(&index), None);
        let of_8 = Given {
            of: Some(8),
            meet: Some("job-0.job:7000".to_owned()),
            ..Given::default()
        };
        assert_eq!(found(of_8, &index).unwrap().unwrap().rank, 5);
        let pmi = [
            ("PMI_RANK", "0"),
            ("PMI_SIZE", "2"),
            ("MPI_LOCALNRANKS", "2"),
        ];
        assert_eq!(launched(&pmi).unwrap().of, 2);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let rank = |rank| Given {
            rank,
            ..Given::default()
        };
        let of = |of| Given {
            of,
            ..Given::default()
        };
        let said = |given, variables: &[_]| found(given, variables).unwrap_err().to_string();
        assert!(said(rank(Some(1)), &[]).contains("--of"));
        assert!(said(of(Some(2)), &[]).contains("--rank"));
        assert!(found(of(Some(0)), &[]).is_err());
        assert_eq!(found(of(Some(1)), &[]), Ok(None));
        let beyond = Given {
            of: Some(2),
            ..rank(Some(2))
        };
        assert!(said(beyond, &[]).contains("0 to 1"));
        let words = [("SLURM_PROCID", "many"), ("SLURM_STEP_NUM_TASKS", "8")];
        assert!(said(Given::default(), &words).contains("SLURM_PROCID=many"));
    }

    #[test]
    fn the_first_host_of_a_list_is_found() {
        for (list, first) in [
            ("a", "a"),
            ("a,b", "a"),
            ("node[07-10,12],login", "node07"),
            ("r[1-2]n[3-4]", "r1n3"),
            ("login,node[1-2]", "login"),
        ] {
            assert_eq!(first_host(list).as_deref(), Some(first), "{list}");
        }
        assert_eq!(first_host(""), None);
        assert_eq!(first_host("a[1"), None);
    }
}
