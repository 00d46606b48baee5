//! A terminal of text, and a person's hands.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use partwise::tui::app::App;
use partwise::tui::draw;
use partwise::tui::msg::{Answer, Clock, Command, JobId, Msg, Request};
use partwise::tui::theme::{Depth, Theme};
use partwise::tui::update::update;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// 2026-12-01T00:00:00Z
pub const NOW: i64 = 1_796_083_200_000;

pub struct Driver {
    pub app: App,
    /// Requests that nobody has answered yet, oldest first.
    pub waiting: Vec<(JobId, Request)>,
    /// Every other command.
    pub commands: Vec<Command>,
    running: Duration,
}

impl Driver {
    pub fn new(size: (u16, u16), read_only: bool) -> Driver {
        let theme = Theme::load("dark", Depth::None).unwrap();
        let app = App::new(vec!["lake".into()], theme, read_only, size);
        let mut driver = Driver { app, waiting: Vec::new(), commands: Vec::new(), running: Duration::ZERO };
        driver.tick(0);
        driver.send(Msg::Start);
        if !read_only {
            driver.answer(|r| matches!(r, Request::Settle), Answer::Settled(Vec::new()));
        }
        driver
    }

    pub fn send(&mut self, msg: Msg) {
        for command in update(&mut self.app, msg) {
            match command {
                Command::Run(id, request) => self.waiting.push((id, request)),
                other => self.commands.push(other),
            }
        }
    }

    /// Lets so many milliseconds pass.
    pub fn tick(&mut self, ms: u64) {
        self.running += Duration::from_millis(ms);
        let wall_ms = NOW + i64::try_from(self.running.as_millis()).unwrap();
        self.send(Msg::Tick(Clock { running: self.running, wall_ms }));
    }

    /// Answers the oldest request that `wanted` accepts.
    pub fn answer(&mut self, wanted: impl Fn(&Request) -> bool, answer: Answer) {
        let at = self.waiting.iter().position(|(_, r)| wanted(r));
        let at = at.unwrap_or_else(|| panic!("nobody asked for it; waiting: {:?}", self.waiting));
        let id = if answer.is_partial() { self.waiting[at].0 } else { self.waiting.remove(at).0 };
        self.send(Msg::Job(id, answer));
    }

    pub fn press(&mut self, code: KeyCode) {
        self.send(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    pub fn control(&mut self, c: char) {
        self.send(Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)));
    }

    /// Types letter by letter.
    pub fn keys(&mut self, text: &str) {
        for c in text.chars() {
            self.press(KeyCode::Char(c));
        }
    }

    pub fn enter(&mut self) {
        self.press(KeyCode::Enter);
    }

    /// The whole screen as text.
    pub fn screen(&self) -> String {
        let (columns, rows) = self.app.core.size;
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| draw::draw(frame, &self.app)).unwrap();
        let buffer = terminal.backend().buffer();
        let mut text = String::new();
        for y in 0..rows {
            let line: String = (0..columns).map(|x| buffer[(x, y)].symbol()).collect();
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    pub fn line_with(&self, part: &str) -> String {
        let screen = self.screen();
        let line = screen.lines().find(|l| l.contains(part));
        line.unwrap_or_else(|| panic!("no line has {part:?} in\n{screen}")).to_owned()
    }

    pub fn wants_to_apply(&self) -> bool {
        self.waiting.iter().any(|(_, r)| matches!(r, Request::Apply { .. }))
    }

    pub fn quit_code(&self) -> Option<u8> {
        self.commands.iter().find_map(|c| match c {
            Command::Quit(code) => Some(*code),
            _ => None,
        })
    }
}
