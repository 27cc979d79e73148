//! `--tui` on a terminal of its own: what is on it, and that it is given back on every way out.

use crate::support::{HUNG, ON_ANY_HOST, Place, Sim, until};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a terminal is told when the view comes and when it goes.
const ENTERED: &str = "\u{1b}[?1049h";
const LEFT: &str = "\u{1b}[?1049l";

/// A process whose standard input and error are a terminal; the report goes elsewhere.
struct OnTerminal {
    child: Child,
    terminal: File,
    seen: Arc<Mutex<Vec<u8>>>,
    seeing: JoinHandle<()>,
    report: JoinHandle<String>,
    /// Nobody looks any longer.
    leaves: Arc<AtomicBool>,
}

/// What stands on a terminal that was sent this: only cells that changed are sent, so that a word
/// may come in pieces.
fn on_screen(sent: &str) -> String {
    let mut rows = vec![vec![' '; 400]; 100];
    let (mut row, mut column) = (0, 0);
    let mut rest = sent.chars();
    while let Some(letter) = rest.next() {
        if letter != '\u{1b}' {
            rows[row][column] = letter;
            column = (column + 1).min(399);
            continue;
        }
        let mut words = String::new();
        let ending = rest.by_ref().find(|it| {
            words.push(*it);
            it.is_alphabetic()
        });
        let place = words.trim_matches(['[', 'H']).split_once(';');
        let place = place.map(|(row, column)| (row.parse::<usize>(), column.parse::<usize>()));
        if let (Some('H'), Some((Ok(to @ 1..=100), Ok(column_to @ 1..=400)))) = (ending, place) {
            (row, column) = (to - 1, column_to - 1);
        }
    }
    let lines = rows.into_iter().map(String::from_iter);
    lines.collect::<Vec<_>>().join("\n")
}

struct Seen {
    code: Option<i32>,
    terminal: String,
    report: String,
}

impl OnTerminal {
    fn start(mut command: Command, columns: u16, rows: u16) -> OnTerminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_col: columns,
            ws_row: rows,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let end = || OpenOptions::new().read(true).write(true).open(&name);
        let mut child = command
            .env("TERM", "xterm-256color")
            .stdin(end().unwrap())
            .stderr(end().unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        drop(command);
        let mut stdout = child.stdout.take().unwrap();
        let report = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stdout.read_to_string(&mut text);
            text
        });
        let terminal = File::from(master);
        let mut reader = terminal.try_clone().unwrap();
        let seen = Arc::<Mutex<Vec<u8>>>::default();
        let into = Arc::clone(&seen);
        let leaves = Arc::<AtomicBool>::default();
        let hung_up = Arc::clone(&leaves);
        // It ends with an error once nobody has the other end.
        let seeing = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut piece) {
                into.lock().unwrap().extend(&piece[..count]);
                if hung_up.load(SeqCst) {
                    break;
                }
            }
        });
        OnTerminal {
            child,
            terminal,
            seen,
            seeing,
            report,
            leaves,
        }
    }

    /// Closes the terminal, as a connection that is lost does.
    fn hang_up(self) -> (Child, JoinHandle<String>) {
        self.leaves.store(true, SeqCst);
        self.seeing.join().unwrap();
        (self.child, self.report)
    }

    fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        let begun = Instant::now();
        while !self.seen().contains(text) && !on_screen(&self.seen()).contains(text) {
            assert!(begun.elapsed() < HUNG, "no {text:?} on {}", self.seen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn press(&mut self, keys: &[u8]) {
        self.terminal.write_all(keys).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn wait(mut self) -> Seen {
        let code = until("the end", || self.child.try_wait().unwrap()).code();
        self.seeing.join().unwrap();
        let terminal = self.seen.lock().unwrap();
        Seen {
            code,
            terminal: String::from_utf8_lossy(&terminal).into_owned(),
            report: self.report.join().unwrap(),
        }
    }
}

impl Seen {
    /// The terminal is as it was, and nothing was written to it but by the view.
    #[track_caller]
    fn assert_given_back(&self) {
        let (before, rest) = self.terminal.split_once(ENTERED).expect(&self.terminal);
        let (_, after) = rest.rsplit_once(LEFT).expect(&self.terminal);
        // A line that says what is tried is wiped away before the view comes.
        let stays = before.rsplit("\u{1b}[2K").next();
        assert!(!before.contains('\n'), "{before:?}");
        assert_eq!(stays, Some(""), "{before:?}");
        assert_eq!(after, "\u{1b}[?25h", "only the cursor comes back");
    }
}

/// A run that goes on until it is ended.
fn endless(place: &Place, sim: &Sim) -> OnTerminal {
    let words = "run --tui --lang en --requests 1000000 --concurrency 2 --output-tokens 8 --out r";
    let words = words.split_whitespace().chain([sim.url.as_str()]);
    let running = OnTerminal::start(place.command(words.chain(ON_ANY_HOST)), 100, 30);
    running.shows("output tok/s");
    until("answers", || {
        let journal = place.path("r/records/journal.jsonl");
        (journal.metadata().ok()?.len() > 10_000).then_some(())
    });
    running
}

#[test]
fn a_run_is_shown_and_leaves_nothing_but_its_report() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "20ms"]);
    let words = "run --tui --lang en --duration 4s --warmup 2 --concurrency 2 --output-tokens 32";
    let words = words.split_whitespace().chain([sim.url.as_str()]);
    let running = OnTerminal::start(place.command(words.chain(ON_ANY_HOST)), 80, 24);
    running.shows("output tok/s");
    running.shows("Doubts so far");
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.report);
    ended.assert_given_back();
    assert!(ended.report.starts_with("VALID"), "{}", ended.report);
}

#[test]
fn keys_and_signals_end_it_and_the_terminal_is_given_back() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    type Ask = fn(&mut OnTerminal);
    let ways: [Ask; 3] = [
        |running| running.press(b"\x03"),
        |running| {
            running.press(b"q");
            running.shows("press q again");
            running.press(b"q");
        },
        |running| running.signal(Signal::TERM),
    ];
    for end in ways {
        let mut running = endless(&place, &sim);
        end(&mut running);
        let ended = running.wait();
        assert_eq!(ended.code, Some(130), "{}", ended.terminal);
        ended.assert_given_back();
        assert!(ended.report.contains("INVALID"), "{}", ended.report);
        std::fs::remove_dir_all(place.path("r")).unwrap();
    }
}

#[test]
fn a_run_whose_terminal_went_away_can_be_ended_and_reports() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    let (mut child, report) = endless(&place, &sim).hang_up();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let code = until("the end", || child.try_wait().unwrap()).code();
    assert_eq!(code, Some(130));
    assert!(report.join().unwrap().contains("INVALID"));
}

#[test]
fn a_key_that_is_not_pressed_again_ends_nothing() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    let mut running = endless(&place, &sim);
    running.press(b"q");
    running.shows("press q again");
    running.press(b"x");
    let before = running.seen().len();
    // Drawn anew with what keys do.
    until("the keys again", || {
        running.seen()[before..].contains("keeping").then_some(())
    });
    running.press(b"\x03");
    assert_eq!(running.wait().code, Some(130));
}

#[test]
fn a_sweep_and_a_search_grow_on_it() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    let sweep = "sweep --concurrency 1,2,3 --duration 2s --warmup 1";
    let search = "capacity --slo ttft.p99=1s --budget 3000 --over concurrency --highest 8";
    for (words, expected) in [(sweep, "concurrency=1"), (search, "bracket")] {
        let shared = "--tui --lang en --output-tokens 8";
        let words = words.split_whitespace().chain(shared.split_whitespace());
        let words = words.chain([sim.url.as_str()]).chain(ON_ANY_HOST);
        let running = OnTerminal::start(place.command(words), 120, 40);
        running.shows("Measured so far");
        running.shows(expected);
        let ended = running.wait();
        assert!(matches!(ended.code, Some(0 | 1)), "{}", ended.terminal);
        ended.assert_given_back();
    }
}

#[test]
fn an_error_gives_the_terminal_back_and_is_told() {
    let place = Place::new();
    let words = "run --tui --lang en http://127.0.0.1:9 --connect-timeout 1s";
    let running = OnTerminal::start(place.command(words.split_whitespace()), 80, 24);
    let ended = running.wait();
    assert_eq!(ended.code, Some(2), "{}", ended.terminal);
    let (_, after) = ended.terminal.rsplit_once(LEFT).expect(&ended.terminal);
    assert!(after.contains("error: "), "{after:?}");
}

#[test]
fn without_a_terminal_it_is_refused_in_one_line() {
    let place = Place::new();
    place.write("s.toml", "");
    for command in ["run", "sweep", "capacity --slo ttft.p99=1s"] {
        let words = command.split_whitespace().chain(["--tui", "--lang", "en"]);
        let ended = place.run(&words.collect::<Vec<_>>());
        ended.assert_refused(&["--tui needs a terminal", "--live"]);
    }
    let both = place.run(&["run", "--tui", "--quiet"]);
    both.assert_refused(&["--quiet"]);
}
