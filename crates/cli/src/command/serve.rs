//! `inferometer serve`: all results of some folders in a browser, and those that still grow as
//! they do.

mod follow;
mod home;
mod index;
mod live;
mod scrape;
mod start;

pub use follow::follow;

use crate::exit::Exit;
use crate::options::{RUNS, lang};
use crate::stderr::say;
use crate::stores::bring;
use anyhow::{Context, bail};
use home::{Home, Served};
use inferometer_bucket::Location;
use inferometer_message::SiteText;
use inferometer_page::html::listed_at;
use inferometer_runner::fetched::Wanted;
use inferometer_text::Lang;
use inferometer_text::user_file;
use inferometer_web::access::{encoded, is_token};
use inferometer_web::{Access, Answer, Method, Request, Server, Status};
use start::Starter;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How often a store is asked what is new.
const LOOK_EVERY: Duration = Duration::from_secs(30);

#[derive(clap::Args)]
pub struct ServeArguments {
    /// Folders with results, or their place in an object store (s3://, gs://, az://)
    /// [inferometer-runs]
    #[arg(value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Address to listen on; others than this machine's own need --token-file
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7470")]
    pub listen: String,
    /// File with the token that a browser must know, of 16 letters or digits or more
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Let pages start measurements in the first folder: whoever may open them can then load any
    /// server that this machine reaches, with the API key of its environment
    #[arg(long)]
    pub allow_run: bool,
    /// No page may end a measurement
    #[arg(long)]
    pub read_only: bool,
    /// Language in which pages open [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = lang)]
    pub lang: Option<Lang>,
}

/// `program` are the arguments of this program, from which a form is made.
pub fn run(arguments: &ServeArguments, program: clap::Command) -> anyhow::Result<Exit> {
    let folders = match &arguments.folders[..] {
        [] => vec![Served::at(PathBuf::from(RUNS))],
        named => named
            .iter()
            .map(|it| served(it))
            .collect::<Result<_, _>>()?,
    };
    if arguments.allow_run && folders[0].store.is_some() {
        bail!(
            "--allow-run keeps results in the first folder, which is in an object store; name a folder of this machine first"
        );
    }
    let address = address("--listen", &arguments.listen)?;
    let access = access("--listen", address, arguments.token_file.as_deref())?;
    let query = query(&access);
    let server = Server::bind(address, access).with_context(|| {
        format!("cannot listen on {address}; choose another port with --listen")
    })?;
    let starter = (arguments.allow_run).then(|| Starter::new(program, folders[0].path.clone()));
    let stores: Vec<Location> = folders.iter().filter_map(|it| it.store.clone()).collect();
    if !stores.is_empty() {
        let look = std::thread::Builder::new().spawn(move || look_again(&stores));
        look.context(crate::NO_THREAD)?;
    }
    let home = Home::new(folders, arguments.lang).with(starter);
    let home = Arc::new(if arguments.read_only {
        home.read_only()
    } else {
        home
    });
    let checked = Arc::clone(&home);
    let check = std::thread::Builder::new().spawn(move || checked.tend_for_ever());
    check.context(crate::NO_THREAD)?;
    let running = server.start(move |request| answer(&home, request));
    let running = running.context(crate::NO_THREAD)?;
    say(format_args!("open http://{}/{query}", running.address()));
    loop {
        std::thread::park();
    }
}

/// A folder that is served; of a place in a store, what its list needs is brought here.
fn served(folder: &Path) -> anyhow::Result<Served> {
    let store = folder.to_str().filter(|text| Location::is_meant_by(text));
    let store = store.map(str::parse::<Location>).transpose()?;
    if store.is_none() && !folder.is_dir() {
        bail!(
            "{} is not a folder; name a folder of results",
            folder.display()
        );
    }
    let path = match &store {
        Some(place) => bring(place, Wanted::Figures)?,
        None => folder.to_owned(),
    };
    Ok(Served {
        store,
        ..Served::at(path)
    })
}

/// Brings what is new in stores, again and again; one that is away is told of once.
fn look_again(stores: &[Location]) {
    let mut away = vec![false; stores.len()];
    loop {
        std::thread::sleep(LOOK_EVERY);
        for (place, away) in stores.iter().zip(&mut away) {
            let looked = bring(place, Wanted::Figures);
            if let Err(error) = &looked
                && !*away
            {
                say(format_args!(
                    "{place} cannot be read now; pages show what is known: {error:#}"
                ));
            }
            *away = looked.is_err();
        }
    }
}

/// Who may ask at an address: all on this machine, or those who know the token of a file.
fn access(option: &str, address: SocketAddr, file: Option<&Path>) -> anyhow::Result<Access> {
    match file.map(token).transpose()? {
        Some(token) => Ok(Access::Token(token)),
        None if address.ip().is_loopback() => Ok(Access::Loopback),
        None => bail!(
            "{option} {address} can be reached by others; give a token with --token-file, or listen on 127.0.0.1"
        ),
    }
}

/// What an address ends with for those who need a token.
fn query(access: &Access) -> &'static str {
    match access {
        Access::Token(_) => "?token=…",
        Access::Loopback => "",
    }
}

/// The token of a file, without the line end.
fn token(file: &Path) -> anyhow::Result<String> {
    let text = user_file::read_text(file)
        .with_context(|| format!("cannot read --token-file {}", file.display()))?;
    let token = text.trim();
    if !is_token(token) {
        bail!(
            "--token-file {}: a token has 16 letters, digits or -._~ or more, as `openssl rand -hex 16` prints",
            file.display()
        );
    }
    Ok(token.to_owned())
}

fn address(option: &str, text: &str) -> anyhow::Result<SocketAddr> {
    let mut found = text.to_socket_addrs().with_context(|| {
        format!("{option} {text} is not an address; write one as in 127.0.0.1:7470")
    })?;
    found
        .next()
        .with_context(|| format!("{option} {text} has no address"))
}

fn answer(home: &Home, request: &Request) -> Answer {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    if request.method == Method::Post {
        return match path[..] {
            ["api", "runs", id, "end"] if home.end(id) => Answer::json("{}".to_owned()),
            ["api", "start"] => {
                let [words, lang] = ["words", "lang"].map(|name| request.query.get(name));
                home.start(words.map(String::as_str), lang.map(String::as_str))
            }
            _ => Answer::text(Status::MethodNotAllowed, "there is nothing to send here"),
        };
    }
    let found = match path[..] {
        [] | ["index.html"] => home.index().map(Some),
        ["runs", id] => home
            .page(id)
            .map(|page| page.map(|page| beside(page, ".."))),
        // A folder below another is written as it is elsewhere, too.
        ["runs", ref parts @ ..] if parts.len() > 1 && home.stored(&parts.join("/")).is_some() => {
            let up = "../".repeat(parts.len() - 1);
            return Answer::redirect(&format!("{up}{}", encoded(&parts.join("/"))));
        }
        ["compare"] => {
            let ids = request.query.get("ids");
            let page = home.comparison(ids.map(String::as_str).unwrap_or_default());
            return home.or_said(page, Status::NotFound);
        }
        ["history"] => return home.or_said(home.history(), Status::Ok),
        ["new"] => Ok(home.form()),
        ["api", "runs"] => return json(home.listed().map(Some)),
        ["api", "runs", id] => return json(home.summary(id)),
        ["api", "runs", id, "live"] => {
            return home.events(id).unwrap_or_else(missing);
        }
        ["metrics"] => {
            return Answer::metrics(home.metrics());
        }
        _ => Ok(None),
    };
    match found {
        Ok(Some(page)) => Answer::page(&home.for_reader(page)),
        Ok(None) => {
            let text = [Lang::En, Lang::Zh].map(|it| SiteText::NoSuchPage.text(it).to_owned());
            let list = match path.len() {
                0 | 1 => "./".to_owned(),
                depth => "../".repeat(depth - 1),
            };
            home.said(Status::NotFound, &text, &list)
        }
        Err(error) => failed(&error),
    }
}

/// A report with the way back to the list of results.
fn beside(page: String, list: &str) -> String {
    let names = [Lang::En, Lang::Zh].map(|lang| SiteText::Back.text(lang));
    listed_at(&page, list, names)
}

fn json(found: anyhow::Result<Option<serde_json::Value>>) -> Answer {
    match found {
        Ok(Some(value)) => Answer::json(value.to_string()),
        Ok(None) => missing(),
        Err(error) => failed(&error),
    }
}

fn missing() -> Answer {
    Answer::text(
        Status::NotFound,
        "there is no such result or page; it may have been removed",
    )
}

fn failed(error: &anyhow::Error) -> Answer {
    let text = inferometer_runner::with_causes(error.as_ref());
    Answer::text(
        Status::Failed,
        &inferometer_text::hostile::printable(&text, 2_000),
    )
}
