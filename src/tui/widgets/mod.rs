//! Pieces that screens are made of. All of them draw into a buffer and keep nothing.

pub mod bar;
pub mod calendar;
pub mod grid;
pub mod list;
pub mod paint;
