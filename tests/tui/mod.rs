//! The screens, drawn from hand-made data and driven by messages alone.

mod data;
mod driver;
mod journeys;
mod screens;
