//! `--live` and `--tui`: how a measurement is followed while it goes on. Who serves its pages is
//! handed in, since a server of pages knows all commands.

use crate::language::language;
use crate::stderr::say;
use anyhow::bail;
use inferometer_runner::now::hear_end_wish;
use inferometer_text::Lang;
use inferometer_tui::{Board, Colours, EndWish, Tui, TuiError};
use inferometer_web::ServerHandle;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const WISHES_EVERY: Duration = Duration::from_millis(500);

#[derive(clap::Args)]
pub struct LiveOptions {
    /// Show it in a browser while it goes on, at this address [127.0.0.1:7470]
    #[arg(
        long,
        value_name = "ADDR:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:7470",
        help_heading = "Output"
    )]
    pub live: Option<String>,
    /// File with the token that a browser must know, where --live is at an address that others
    /// reach: 16 letters or digits or more
    #[arg(long, value_name = "FILE", requires = "live", help_heading = "Output")]
    pub token_file: Option<PathBuf>,
    /// No page may end the run, neither that of --live nor one of `inferometer serve`
    #[arg(long, help_heading = "Output")]
    pub read_only: bool,
    /// Show it on the whole terminal while it goes on: figures, curves and doubts as they arise
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    pub tui: bool,
}

/// What is followed: the folder of a run, a sweep, a search or a study, and what ends it where a
/// page may do so.
pub struct Followed<'a> {
    pub folder: &'a Path,
    pub end: Option<EndWish>,
    /// The language that was asked for; else pages are in that of their reader.
    pub lang: Option<Lang>,
}

/// Serves pages of what is followed at an address, to those who know the token of a file.
pub type Serve = fn(&str, Option<&Path>, &Followed<'_>) -> anyhow::Result<LivePage>;

/// Pages of what this process measures; they end with it.
pub struct LivePage {
    #[expect(dead_code, reason = "it serves until it is dropped")]
    server: ServerHandle,
    /// Where it can be opened.
    address: String,
}

/// All who follow a measurement, until it ends.
pub struct Followers {
    page: Option<LivePage>,
    view: Option<Tui>,
    #[expect(dead_code, reason = "they are heard until it is dropped")]
    wishes: Option<Wishes>,
}

/// Wishes of other processes for the end of the measurement, heard until this is dropped.
struct Wishes(Arc<AtomicBool>);

impl Wishes {
    fn heard(folder: &Path, end: EndWish) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (is_over, folder) = (Arc::clone(&over), folder.to_owned());
        // One that an earlier measurement into this folder did not hear is not for this one.
        hear_end_wish(&folder);
        let hear = move || {
            while !is_over.load(Ordering::Relaxed) {
                if hear_end_wish(&folder) {
                    end();
                }
                std::thread::sleep(WISHES_EVERY);
            }
        };
        // Without a thread nobody is heard, and the measurement goes on.
        let _ = std::thread::Builder::new()
            .name("wishes".into())
            .spawn(hear);
        Wishes(over)
    }
}

impl Drop for Wishes {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl LiveOptions {
    /// What a view in the terminal shows beside the measurement; absent unless it was asked for.
    pub fn board(&self) -> anyhow::Result<Option<Arc<Board>>> {
        let is_set = |name: &str, value: &str| std::env::var_os(name).is_some_and(|it| it == value);
        if self.tui && (is_set("TERM", "dumb") || !std::io::stderr().is_terminal()) {
            bail!("--tui needs a terminal; leave it out here, or use --live and a browser");
        }
        Ok(self.tui.then(Arc::default))
    }

    /// Begins to show what is measured into a folder; `end` is what Ctrl-C does.
    pub fn follow(
        &self,
        serve: Serve,
        folder: &Path,
        end: EndWish,
        board: Option<Arc<Board>>,
        lang: Option<Lang>,
    ) -> anyhow::Result<Followers> {
        let followed = Followed {
            folder,
            end: (!self.read_only).then(|| Arc::clone(&end)),
            lang,
        };
        let listen = self.live.as_deref();
        let page = listen.map(|it| serve(it, self.token_file.as_deref(), &followed));
        let page = page.transpose()?;
        if let Some(page) = &page {
            let text = format!("live: {}", page.address);
            match &board {
                Some(board) => board.keep(&text),
                None => say(text),
            }
        }
        let wishes = (!self.read_only).then(|| Wishes::heard(folder, Arc::clone(&end)));
        let colours = if std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty()) {
            Colours::Shown
        } else {
            Colours::None
        };
        let view = board.map(|board| Tui::start(board, folder, end, colours, language(lang)));
        Ok(Followers {
            page,
            view: view.transpose().map_err(|error| match error {
                TuiError::Thread(cause) => anyhow::Error::new(cause).context(crate::NO_THREAD),
                error => error.into(),
            })?,
            wishes,
        })
    }
}

impl LivePage {
    pub fn new(server: ServerHandle, address: String) -> Self {
        LivePage { server, address }
    }
}

impl Followers {
    /// The measurement is over: the terminal makes room for the report.
    pub fn clear(&mut self) {
        self.view = None;
    }

    /// Leaves browsers the time to hear that the measurement ended.
    pub fn end(self) {
        if self.page.is_some() {
            std::thread::sleep(Duration::from_millis(1_200));
        }
    }
}
