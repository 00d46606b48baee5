//! Stub.

pub mod data;
