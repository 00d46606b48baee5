//! What lies over a screen and takes its keys.

pub mod activity;
pub mod confirm;
mod confirm_text;
pub mod export;
pub mod fields;
pub mod filter;
pub mod help;
pub mod palette;
pub mod save_config;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::App;

pub enum Overlay {
    Help(help::Help),
    Palette(palette::Palette),
    Filter(filter::Filter),
    Fields(Box<fields::Fields>),
    Confirm(Box<confirm::Confirm>),
    Export(Box<export::Export>),
    Activity(activity::Activity),
    SaveConfig(Box<save_config::SaveConfig>),
}

pub fn draw(buf: &mut Buffer, area: Rect, overlay: &Overlay, app: &App) {
    match overlay {
        Overlay::Help(help) => help::draw(buf, area, help, app),
        Overlay::Palette(palette) => palette::draw(buf, area, palette, app),
        Overlay::Filter(filter) => filter::draw(buf, area, filter, &app.core),
        Overlay::Fields(fields) => fields::draw(buf, area, fields, &app.core),
        Overlay::Export(export) => export::draw(buf, area, export, &app.core),
        Overlay::Confirm(confirm) => confirm::draw(buf, area, confirm, &app.core),
        Overlay::Activity(activity) => activity::draw(buf, area, activity, &app.core),
        Overlay::SaveConfig(dialog) => save_config::draw(buf, area, dialog, &app.core),
    }
}
