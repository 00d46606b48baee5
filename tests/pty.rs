//! The built program on a pseudo-terminal of 80 × 24: the tour of the README,
//! and the terminal as it was after every way out.
#![cfg(unix)]

use std::io::{Read, Write};
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, ExitStatus, MasterPty, PtySize, SlavePty, native_pty_system};

/// Generous: a loaded machine must not make these tests fail.
const PATIENCE: Duration = Duration::from_secs(60);

const ENTER: &str = "\r";
const CTRL_C: &str = "\x03";

enum Event {
    Output(Vec<u8>),
    Exited(ExitStatus),
}

/// The flags of a terminal that a shell would miss if they stayed changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LineMode {
    input: libc::tcflag_t,
    output: libc::tcflag_t,
    local: libc::tcflag_t,
}

impl LineMode {
    fn of(fd: RawFd) -> Self {
        // SAFETY: `termios` is plain data, and the descriptor is open for as long as the pair lives.
        unsafe {
            let mut termios: libc::termios = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(fd, &mut termios), 0, "tcgetattr: {}", std::io::Error::last_os_error());
            LineMode { input: termios.c_iflag, output: termios.c_oflag, local: termios.c_lflag }
        }
    }

    fn is_raw(self) -> bool {
        self.local & (libc::ICANON | libc::ECHO) == 0
    }
}

/// A running program and what its terminal shows.
struct Terminal {
    master: Box<dyn MasterPty + Send>,
    /// Held open so that the terminal outlives the program.
    slave: Option<Box<dyn SlavePty + Send>>,
    keys: Box<dyn Write + Send>,
    events: Receiver<Event>,
    screen: vt100::Parser,
    pid: libc::pid_t,
    before: LineMode,
    exited: Option<ExitStatus>,
}

impl Terminal {
    fn start(home: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let before = LineMode::of(pair.master.as_raw_fd().expect("a descriptor"));

        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_partwise"));
        command.args(arguments);
        command.env_clear();
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        command.env("HOME", home);
        command.env("PARTWISE_STATE", home.join("state"));
        for (name, value) in environment {
            command.env(name, value);
        }
        command.cwd(home);
        let mut child = pair.slave.spawn_command(command).expect("the program starts");
        let pid = child.process_id().expect("a process id") as libc::pid_t;

        let (sender, events) = channel();
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let output = sender.clone();
        std::thread::spawn(move || {
            let mut chunk = [0; 8192];
            // The end of a pseudo-terminal is an error on Linux and 0 elsewhere.
            while let Ok(read @ 1..) = reader.read(&mut chunk) {
                if output.send(Event::Output(chunk[..read].to_vec())).is_err() {
                    break;
                }
            }
        });
        std::thread::spawn(move || {
            let status = child.wait().expect("the program can be waited for");
            // Nobody listens any more where a test has failed already.
            let _ = sender.send(Event::Exited(status));
        });
        let keys = pair.master.take_writer().expect("a writer");
        Terminal {
            master: pair.master,
            slave: Some(pair.slave),
            keys,
            events,
            screen: vt100::Parser::new(24, 80, 0),
            pid,
            before,
            exited: None,
        }
    }

    fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    fn line_mode(&self) -> LineMode {
        LineMode::of(self.master.as_raw_fd().expect("a descriptor"))
    }

    /// Takes in one event; false once there will be none.
    fn step(&mut self, deadline: Instant, waiting_for: &str) -> bool {
        match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Event::Output(bytes)) => self.screen.process(&bytes),
            Ok(Event::Exited(status)) => self.exited = Some(status),
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => {
                panic!("waited in vain for {waiting_for}; the screen is\n{}", self.contents())
            }
        }
        true
    }

    fn wait_until(&mut self, what: &str, shown: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !shown(&self.contents()) {
            assert!(self.exited.is_none(), "ended while waiting for {what}; the screen is\n{}", self.contents());
            self.step(deadline, what);
        }
    }

    /// Waits until every text is on the screen.
    fn wait_for(&mut self, texts: &[&str]) {
        self.wait_until(&format!("{texts:?}"), |screen| texts.iter().all(|t| screen.contains(t)));
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush()).expect("the terminal takes keys");
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: the process is our child and has not been waited for.
        assert_eq!(unsafe { libc::kill(self.pid, signal) }, 0);
    }

    /// Waits for the end and asserts that the terminal is as it was.
    fn finish(mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + PATIENCE;
        while self.exited.is_none() {
            self.step(deadline, "the program's end");
        }
        let after = self.line_mode();
        // With its last holder gone the reader runs dry, and nothing is missed.
        self.slave = None;
        while self.step(deadline, "the rest of the output") {}

        assert_eq!(after, self.before, "the line mode is not as it was");
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen(), "left on the alternate screen");
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert!(!screen.bracketed_paste(), "bracketed paste is on");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None, "the mouse is captured");
        (self.exited.take().expect("it ended"), self.contents())
    }
}

/// The lake screen of a fresh demo.
fn open_demo(home: &Path, environment: &[(&str, &str)]) -> Terminal {
    let mut terminal = Terminal::start(home, &["demo", "--dir", "lake"], environment);
    terminal.wait_for(&["working_capital", "daily_sales"]);
    assert!(terminal.line_mode().is_raw(), "a terminal UI reads single keys");
    assert!(terminal.screen.screen().alternate_screen(), "a terminal UI leaves the scrollback alone");
    terminal
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

#[test]
fn q_leaves_the_terminal_as_it_was() {
    let home = home();
    let mut terminal = open_demo(home.path(), &[]);
    terminal.press("q");
    let (status, _) = terminal.finish();
    assert_eq!(status.exit_code(), 0);
}

#[test]
fn ctrl_c_leaves_the_terminal_as_it_was() {
    let home = home();
    let mut terminal = open_demo(home.path(), &[]);
    terminal.press(CTRL_C);
    let (status, _) = terminal.finish();
    assert_eq!(status.exit_code(), 130);
}

#[test]
fn a_termination_signal_leaves_the_terminal_as_it_was() {
    for signal in [libc::SIGTERM, libc::SIGHUP] {
        let home = home();
        let terminal = open_demo(home.path(), &[]);
        terminal.signal(signal);
        let (status, _) = terminal.finish();
        assert!(!status.success(), "{status:?}");
    }
}

#[test]
fn a_panic_leaves_the_terminal_as_it_was_and_is_told() {
    let home = home();
    let terminal = Terminal::start(home.path(), &["demo", "--dir", "lake"], &[("PARTWISE_TEST_PANIC", "1")]);
    let (status, screen) = terminal.finish();
    assert!(!status.success(), "{status:?}");
    assert!(screen.contains("panic"), "the panic's message is on the screen:\n{screen}");
}

#[test]
fn a_colourless_terminal_gets_no_colour() {
    let home = home();
    let mut terminal = open_demo(home.path(), &[("NO_COLOR", "1")]);
    let screen = terminal.screen.screen();
    let coloured = (0..24)
        .flat_map(|row| (0..80).filter_map(move |column| screen.cell(row, column)))
        .filter(|cell| cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default)
        .count();
    assert_eq!(coloured, 0);
    terminal.press("q");
    terminal.finish();
}

/// Passes the confirm dialog: the name, then Enter on to the button, then Enter.
fn confirm(terminal: &mut Terminal, versions: [&str; 2]) {
    terminal.wait_for(&[&format!("{} → {}", versions[0], versions[1]), "type gold.working_capital to go on"]);
    // Cancel has the focus: Enter alone would close the dialog, and a paste is ignored.
    terminal.press("\x1b[200~gold.working_capital\x1b[201~");
    terminal.press("gold.working_capital");
    terminal.press(ENTER);
    terminal.press(ENTER);
    terminal.wait_for(&[&format!("{} committed and verified", versions[1])]);
}

/// The README's tour: what a MERGE would leave behind, an overwrite instead,
/// and back again.
#[test]
fn the_tour() {
    let home = home();
    let mut terminal = open_demo(home.path(), &[]);

    // daily_sales comes before working_capital.
    terminal.press("G");
    terminal.press(ENTER);
    terminal.wait_for(&["gold.working_capital @ v6"]);
    // The partitions.
    terminal.press("2");
    terminal.wait_for(&["fiscal_period", "2026006"]);

    terminal.press("c");
    terminal.wait_for(&["source", "key", "company_code, doc_number"]);
    terminal.press("lake/staging/2026006.parquet");
    terminal.press(ENTER);
    terminal.wait_for(&["MERGE", "overwrite ★", "1,450", "750", "full slice"]);

    terminal.press("z");
    terminal.wait_for(&["ZOMBIE", "102", "700.00"]);

    terminal.press("3");
    terminal.press("A");
    confirm(&mut terminal, ["v6", "v7"]);

    terminal.press("u");
    confirm(&mut terminal, ["v7", "v8"]);

    terminal.press(CTRL_C);
    let (status, _) = terminal.finish();
    assert_eq!(status.exit_code(), 130);
}
