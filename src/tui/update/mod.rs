//! The only place that changes the state. It does no I/O and never waits: what
//! has to be done outside goes out as commands.

mod answers;
mod changes;
mod compare;
mod confirm;
mod form;
mod gates;
mod keys;
mod lake;
mod layouts;
mod navigate;
mod overlays;
mod paste;
mod settle;
mod table;

use super::app::App;
use super::msg::{Command, Msg, Request};

/// Takes one message and gives back what is to be done.
pub fn update(app: &mut App, msg: Msg) -> Vec<Command> {
    match msg {
        Msg::Start => start(app),
        Msg::Key(event) => keys::key(app, event),
        Msg::Paste(text) => overlays::paste(app, &text),
        Msg::Wheel(rows) => navigate::wheel(app, rows),
        Msg::Resize(columns, rows) => app.core.resize((columns, rows)),
        Msg::Tick(clock) => app.core.tick(clock),
        Msg::Job(id, answer) => answers::answer(app, id, answer),
        Msg::Terminate(code) => app.core.out.push(Command::Quit(code)),
        Msg::Trouble(failure) => app.core.fail(failure),
    }
    settle::settle(app);
    std::mem::take(&mut app.core.out)
}

fn start(app: &mut App) {
    let super::app::Screen::Lake(lake) = &mut app.screens[0] else { return };
    lake.started = app.core.clock;
    let requests: Vec<Request> = match lake.targets.as_slice() {
        [one] => vec![Request::Target(one.clone())],
        many => many.iter().cloned().map(Request::Discover).collect(),
    };
    for request in requests {
        lake.jobs.push(app.core.run(request));
    }
    if !app.core.read_only {
        app.core.run(Request::Settle);
    }
}
