//! The terminal: taken over at the start, given back as it was on every way out.

use std::io::{self, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

/// Whether the terminal is ours, so that it is given back exactly once.
static TAKEN: AtomicBool = AtomicBool::new(false);

pub type Screen = Terminal<CrosstermBackend<Stdout>>;

/// Gives the terminal back when it goes out of scope.
pub struct Guard(());

impl Guard {
    /// # Errors
    /// What the terminal answers; it is then given back already.
    pub fn take() -> io::Result<Guard> {
        TAKEN.store(true, Ordering::SeqCst);
        let guard = Guard(());
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)?;
        Ok(guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        give_back();
    }
}

/// Undoes all that [`Guard::take`] did. Every step is tried, whatever the ones
/// before answered: a terminal that is gone cannot be helped, one that is there
/// must not stay half restored.
pub fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        let screen = execute!(out, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
        let raw = disable_raw_mode();
        if let Err(error) = screen.and(raw) {
            tracing::warn!("the terminal could not be given back: {error}");
        }
    }
}

/// A terminal to draw on. One that does not know its size is taken as 80×24.
///
/// # Errors
/// What the terminal answers.
pub fn screen() -> io::Result<(Screen, (u16, u16))> {
    let backend = CrosstermBackend::new(io::stdout());
    match size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => Ok((Terminal::new(backend)?, (columns, rows))),
        _ => {
            let viewport = Viewport::Fixed(Rect::new(0, 0, 80, 24));
            Ok((Terminal::with_options(backend, TerminalOptions { viewport })?, (80, 24)))
        }
    }
}

/// Gives the terminal back before a panic of this thread is reported; a panic
/// of a background job is reported to the log only, because the screen lives on.
pub fn install_panic_hook() {
    let drawing = std::thread::current().id();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() == drawing || !TAKEN.load(Ordering::SeqCst) {
            give_back();
            before(panic);
        } else {
            tracing::error!("a background job panicked: {panic}");
        }
    }));
}

/// Puts a text into the clipboard by OSC 52, which also works over SSH.
///
/// # Errors
/// What the terminal answers.
pub fn copy(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    write!(out, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
    out.flush()
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().enumerate().fold(0_u32, |n, (i, b)| n | u32::from(*b) << (16 - 8 * i));
        for i in 0..4 {
            let index = (group >> (18 - 6 * i) & 63) as usize;
            out.push(if i <= chunk.len() { ALPHABET[index] as char } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_pads_like_the_standard_says() {
        for (text, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy"), ("∅", "4oiF")]
        {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
    }
}
