//! `--tui`: a measurement on the whole terminal while it goes on. What is shown comes from the
//! same look at its folder as live pages; only what happens before there is a folder, or between
//! two runs, is told by its [`Board`].
//!
//! The terminal is given back on every way out: by the end, an error, a panic and a signal.

mod backend;
mod screen;
#[cfg(test)]
mod tests;

use backend::Stderr;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::execute;
use crossterm::style::Print;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use inferometer_load::clock::while_showing;
use inferometer_message::ProgressText;
use inferometer_runner::now::StepState;
use inferometer_runner::now::{self, Now};
use inferometer_text::Lang;
use ratatui_core::terminal::Terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use screen::{Footer, Screen, state_text};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use strum::VariantArray as _;

/// Time between two pictures, and between two looks at the folder.
const PICTURE_EVERY: Duration = Duration::from_millis(200);
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A picture that is being drawn is waited for so long before the terminal is given back.
const LONGEST_PICTURE: Duration = Duration::from_millis(300);
/// Messages that are kept for the view.
const MOST_MESSAGES: usize = 100;

/// Whether the terminal is ours, held by whoever draws or gives it back.
static OURS: Mutex<bool> = Mutex::new(false);

/// What ends a measurement: a signal does this, and so do keys and the button of a page.
pub type EndWish = Arc<dyn Fn() + Send + Sync>;

/// What is said while nothing can be read from a folder.
#[derive(Default)]
pub struct Board {
    said: Mutex<Said>,
    shown: AtomicBool,
}

#[derive(Clone, Debug, Default)]
struct Said {
    /// What is being done or waited for.
    status: String,
    messages: Vec<String>,
}

impl Board {
    pub fn is_shown(&self) -> bool {
        self.shown.load(SeqCst)
    }

    pub fn say(&self, text: &str) {
        text.clone_into(&mut self.lock().status);
    }

    pub fn keep(&self, text: &str) {
        let messages = &mut self.lock().messages;
        if messages.len() == MOST_MESSAGES {
            messages.remove(0);
        }
        messages.push(text.trim_end().to_owned());
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Board {
    /// What was never in sight is told all the same.
    fn drop(&mut self) {
        if !self.is_shown() {
            for message in &self.lock().messages {
                // A terminal that went away hears nothing.
                let _ = writeln!(std::io::stderr(), "{message}");
            }
        }
    }
}

/// Whether the user wants colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    Shown,
    None,
}

#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    #[error("cannot use this terminal for --tui; leave it out")]
    Terminal(#[source] std::io::Error),
    #[error("no thread could be started for --tui")]
    Thread(#[source] std::io::Error),
}

/// The view, until it is dropped.
pub struct Tui {
    stop: Arc<AtomicBool>,
    drawing: Option<JoinHandle<()>>,
}

impl Tui {
    /// Takes the terminal, and shows what is measured into a folder; `end` is what Ctrl-C does.
    pub fn start(
        board: Arc<Board>,
        folder: &Path,
        end: EndWish,
        colours: Colours,
        lang: Lang,
    ) -> Result<Tui, TuiError> {
        let terminal = Terminal::new(Stderr::new(colours)).map_err(TuiError::Terminal)?;
        take().map_err(TuiError::Terminal)?;
        board.shown.store(true, SeqCst);
        let stop = Arc::new(AtomicBool::new(false));
        let known = Arc::new(Mutex::new(None));
        let mut tui = Tui {
            stop: Arc::clone(&stop),
            drawing: None,
        };
        let name = folder.file_name().unwrap_or_default();
        let view = View {
            title: name.to_string_lossy().into_owned(),
            board,
            known: Arc::clone(&known),
            end,
            lang,
            asked: false,
            ending: false,
            stop: Arc::clone(&stop),
        };
        let folder = folder.to_owned();
        // It may be in the middle of a long look when the view ends; nobody waits for it.
        let looking = move || watch(&folder, &known, &stop);
        std::thread::Builder::new()
            .name("look".into())
            .spawn(looking)
            .map_err(TuiError::Thread)?;
        let drawing = std::thread::Builder::new()
            .name("tui".into())
            .spawn(move || view.show(terminal));
        tui.drawing = Some(drawing.map_err(TuiError::Thread)?);
        Ok(tui)
    }
}

impl Drop for Tui {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        // A terminal that went away may hold it for ever.
        let until = Instant::now() + PICTURE_EVERY + LONGEST_PICTURE;
        while self.drawing.as_ref().is_some_and(|it| !it.is_finished()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        give_back();
    }
}

fn take() -> std::io::Result<()> {
    let mut ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
    enable_raw_mode()?;
    *ours = true;
    // A line that said what was tried is wiped away.
    execute!(
        std::io::stderr(),
        Print('\r'),
        Clear(ClearType::CurrentLine),
        EnterAlternateScreen,
        Hide
    )
}

/// Gives the terminal back, if it is ours. For every way out of this process, so it never waits
/// long: a panic may come from whoever draws.
pub fn give_back() {
    let until = Instant::now() + LONGEST_PICTURE;
    let mut ours = loop {
        match OURS.try_lock() {
            Ok(ours) => break Some(ours),
            Err(TryLockError::Poisoned(poisoned)) => break Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() > until => break None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    if ours.as_deref().copied() == Some(false) {
        return;
    }
    let _ = execute!(std::io::stderr(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
    if let Some(ours) = &mut ours {
        **ours = false;
    }
}

/// The words for what became of a step, by the code that a page is sent.
pub fn state_words() -> Vec<(&'static str, ProgressText)> {
    let words = StepState::VARIANTS.iter();
    words
        .map(|&state| (state.into(), state_text(state)))
        .collect()
}

/// Whether nobody is at the other end: reading keys from there would never end.
fn terminal_is_gone() -> bool {
    let screen = std::io::stderr();
    let mut asked = [PollFd::new(&screen, PollFlags::empty())];
    let now = Timespec::default();
    let answered = poll(&mut asked, Some(&now));
    answered.is_ok()
        && asked[0]
            .revents()
            .intersects(PollFlags::HUP | PollFlags::ERR)
}

type Known = Arc<Mutex<Option<Arc<Now>>>>;

/// Looks at a folder from time to time; what is known once stays until more is.
fn watch(folder: &Path, known: &Known, stop: &AtomicBool) {
    while !stop.load(SeqCst) {
        if let Some(now) = while_showing(|| now::look(folder)) {
            *known.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

struct View {
    title: String,
    board: Arc<Board>,
    known: Known,
    end: EndWish,
    lang: Lang,
    /// `q` was pressed once.
    asked: bool,
    /// The end was asked for.
    ending: bool,
    stop: Arc<AtomicBool>,
}

impl View {
    fn show(mut self, mut terminal: Terminal<Stderr>) {
        while !self.stop.load(SeqCst) {
            let ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
            if !*ours || self.draw(&mut terminal).is_err() {
                return;
            }
            drop(ours);
            if terminal_is_gone() {
                return;
            }
            match event::poll(PICTURE_EVERY) {
                Ok(true) => match event::read() {
                    Ok(Event::Key(key)) if key.kind == KeyEventKind::Press => self.press(&key),
                    Ok(_) => {}
                    Err(_) => return,
                },
                Ok(false) => {}
                // Keys cannot be read; what is shown goes on.
                Err(_) => std::thread::sleep(PICTURE_EVERY),
            }
        }
    }

    fn draw(&self, terminal: &mut Terminal<Stderr>) -> std::io::Result<()> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = known.clone();
        drop(known);
        let said = self.board.lock().clone();
        let screen = Screen {
            title: &self.title,
            now: now.as_deref(),
            said: &said,
            footer: match (self.ending, self.asked) {
                (true, _) => Footer::Ending,
                (false, true) => Footer::Sure,
                (false, false) => Footer::Keys,
            },
            lang: self.lang,
        };
        while_showing(|| {
            terminal
                .draw(|frame| screen.draw(frame.buffer_mut()))
                .map(drop)
        })?;
        Ok(())
    }

    /// `q` twice and Ctrl-C end what is measured.
    fn press(&mut self, key: &KeyEvent) {
        let is_interrupt =
            key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        let is_q = key.code == KeyCode::Char('q');
        if is_interrupt || (is_q && self.asked) {
            self.asked = false;
            self.ending = true;
            (self.end)();
        } else {
            self.asked = is_q;
        }
    }
}
