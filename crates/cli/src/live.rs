//! `--live`: what of a measurement is followed in a browser. Who serves it is handed in, since a
//! server of pages knows all commands.

use inferometer_load::instrument::Control;
use inferometer_text::Lang;
use inferometer_web::ServerHandle;
use std::path::Path;
use std::time::Duration;

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
    /// A page may not end the run
    #[arg(long, requires = "live", help_heading = "Output")]
    pub read_only: bool,
}

/// What is followed.
pub enum Followed<'a> {
    /// A run, by its folder, and what ends it where a page may do so.
    Run(&'a Path, Option<&'a Control>),
    /// The runs of a sweep or a search, which come one after the other in a folder.
    All(&'a Path),
}

/// Serves pages of what is followed at an address, and says where.
pub type Serve = fn(&str, &Followed<'_>, Lang) -> anyhow::Result<LivePage>;

/// Pages of what this process measures; they end with it.
pub struct LivePage(#[expect(dead_code, reason = "it serves until it is dropped")] ServerHandle);

impl LiveOptions {
    /// Absent unless it was asked for.
    pub fn follow(
        &self,
        serve: Serve,
        followed: Followed<'_>,
        lang: Lang,
    ) -> anyhow::Result<Option<LivePage>> {
        let followed = match followed {
            Followed::Run(out, _) if self.read_only => Followed::Run(out, None),
            other => other,
        };
        let listen = self.live.as_deref();
        listen.map(|it| serve(it, &followed, lang)).transpose()
    }
}

impl LivePage {
    pub fn new(server: ServerHandle) -> Self {
        LivePage(server)
    }

    /// Leaves browsers the time to hear that the measurement ended.
    pub fn end(self) {
        std::thread::sleep(Duration::from_millis(1_200));
    }
}
