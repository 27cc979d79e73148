//! `inferometer doctor`.

use crate::Exit;
use crate::arguments::DoctorArguments;

pub fn run(_arguments: DoctorArguments) -> anyhow::Result<Exit> {
    anyhow::bail!("not yet")
}
