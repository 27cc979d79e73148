//! How a picture gets to the terminal, by way of standard error: standard output belongs to the
//! report.

use super::Colours;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::style::{
    Attribute, Color as TerminalColor, Print, SetAttribute, SetForegroundColor,
};
use crossterm::terminal::{Clear, ClearType as Extent};
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};
use std::io::{self, BufWriter, Write as _};

pub struct Stderr {
    out: BufWriter<io::Stderr>,
    /// Unless the user wants none.
    coloured: bool,
}

impl Stderr {
    pub fn new(colours: Colours) -> Self {
        Stderr {
            out: BufWriter::with_capacity(1 << 16, io::stderr()),
            coloured: colours == Colours::Shown,
        }
    }
}

/// The colours that the view uses are those that every terminal has.
fn colour(colour: Color) -> TerminalColor {
    match colour {
        Color::Red => TerminalColor::DarkRed,
        Color::Green => TerminalColor::DarkGreen,
        Color::Yellow => TerminalColor::DarkYellow,
        Color::Cyan => TerminalColor::DarkCyan,
        _ => TerminalColor::Reset,
    }
}

impl Backend for Stderr {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let plain = (Color::Reset, Modifier::empty());
        let (mut style, mut next) = (plain, None);
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                queue!(self.out, MoveTo(x, y))?;
            }
            // After a wide sign the cursor is two cells on.
            next = None;
            if cell.symbol().is_ascii() {
                next = Some((x + 1, y));
            }
            if style != (cell.fg, cell.modifier) {
                style = (cell.fg, cell.modifier);
                queue!(self.out, SetAttribute(Attribute::Reset))?;
                if self.coloured && cell.fg != Color::Reset {
                    queue!(self.out, SetForegroundColor(colour(cell.fg)))?;
                }
                for (modifier, attribute) in [
                    (Modifier::BOLD, Attribute::Bold),
                    (Modifier::DIM, Attribute::Dim),
                    (Modifier::REVERSED, Attribute::Reverse),
                ] {
                    if cell.modifier.contains(modifier) {
                        queue!(self.out, SetAttribute(attribute))?;
                    }
                }
            }
            queue!(self.out, Print(cell.symbol()))?;
        }
        queue!(self.out, SetAttribute(Attribute::Reset))
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        queue!(self.out, Hide)
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        queue!(self.out, Show)
    }

    /// It is hidden, and where it is matters to nobody.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        queue!(self.out, MoveTo(x, y))
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, extent: ClearType) -> io::Result<()> {
        let extent = match extent {
            ClearType::All => Extent::All,
            ClearType::AfterCursor => Extent::FromCursorDown,
            ClearType::BeforeCursor => Extent::FromCursorUp,
            ClearType::CurrentLine => Extent::CurrentLine,
            ClearType::UntilNewLine => Extent::UntilNewLine,
        };
        queue!(self.out, Clear(extent))?;
        self.out.flush()
    }

    fn size(&self) -> io::Result<Size> {
        let known = terminal_size::terminal_size_of(io::stderr());
        Ok(known.map_or(Size::new(80, 24), |(width, height)| {
            Size::new(width.0, height.0)
        }))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: self.size()?,
            pixels: Size::ZERO,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
