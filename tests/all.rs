//! One binary for all integration tests, so that they are linked once.

mod tui;
