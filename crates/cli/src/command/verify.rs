//! `inferometer verify`: whether stored results are as they were written.

use crate::exit::Exit;
use crate::options::lang;
use crate::output::{language, print};
use crate::stores::{local, shown};
use anyhow::bail;
use clap::Args;
use inferometer_message::RunsText;
use inferometer_runner::fetched::Wanted;
use inferometer_store::verify::{Integrity, Verified, verify};
use inferometer_text::Lang;
use inferometer_text::hostile::printable;
use std::path::Path;

#[derive(Args)]
pub struct VerifyArguments {
    /// Results of any kind, or folders that hold some, here or in an object store
    #[arg(required = true, value_name = "DIR|URL")]
    pub folders: Vec<String>,
    /// Language [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = lang)]
    pub lang: Option<Lang>,
}

pub fn run(arguments: &VerifyArguments) -> anyhow::Result<Exit> {
    let lang = language(arguments.lang);
    let mut damaged = false;
    for folder in &arguments.folders {
        let found = verify(Path::new(&local(folder, Wanted::All)?));
        if found.is_empty() {
            bail!("{folder} holds no result; `inferometer runs` lists those that are stored");
        }
        for verified in &found {
            damaged |= matches!(verified.state, Integrity::Damaged(_));
            for line in lines(verified, lang) {
                print(&(line + "\n"))?;
            }
        }
    }
    Ok(Exit::fine_if(!damaged))
}

/// Letters of a name or of what is wrong with it: both may be a stranger's.
const LONGEST_LINE: usize = 1_000;

fn lines(verified: &Verified, lang: Lang) -> Vec<String> {
    let safe = |text: &str| printable(text, LONGEST_LINE);
    let path = safe(&shown(&verified.path).display().to_string());
    match &verified.state {
        Integrity::Intact { files } => {
            let filled = [("path", path), ("files", files.to_string())];
            vec![RunsText::Intact.with(lang, &filled)]
        }
        Integrity::Unhashed => vec![RunsText::Unhashed.with(lang, &[("path", path)])],
        Integrity::Damaged(damage) => {
            let line = |what: &String| {
                let filled = [("path", path.clone()), ("what", safe(what))];
                RunsText::Damaged.with(lang, &filled)
            };
            damage.iter().map(line).collect()
        }
    }
}
