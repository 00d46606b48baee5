//! partwise: see what a write to a partitioned table would do, gate it, do it
//! in one commit, take it back.
//!
//! # Where things are
//!
//! | room | what it holds | may import |
//! | --- | --- | --- |
//! | [`error`], [`progress`] | the one error type; progress and cancellation | – |
//! | [`calls`] | calls to store and journal, one by one, so that tests can cut in | – |
//! | [`table`] | what a table is: values, schema, files, history (pure) | error |
//! | [`plan`] | kinds of plans, effects, their arithmetic (pure) | table |
//! | [`gate`] | one file per gate (pure) | plan, table |
//! | [`config`] | `config.toml`, folders | gate, plan |
//! | [`predicate`] | the one predicate language and its lowerings | table |
//! | [`statement`] | statements that notebooks run, as intents | predicate, plan, table |
//! | [`lake`] | getting at tables: discovery, log, data files, commit | table, plan, calls |
//! | [`source`] | getting at what was delivered | lake, plan, table |
//! | [`engine`] | classify, page, stage, verify, over the plan algebra | source, lake, predicate, plan, gate, table |
//! | [`journal`] | what was done, written ahead | plan, calls |
//! | [`ops`] | the road of every write; one file an operation | all of the above |
//! | [`action`] | the registry of what a person can do | – |
//! | [`cli`], [`tui`] | the two faces | ops, action, config, predicate, and the pure rooms |
//!
//! `tests/architecture.rs` holds this table true. `docs/ARCHITECTURE.md` says why.

pub mod action;
pub mod calls;
pub mod cli;
pub mod config;
pub mod engine;
pub mod error;
pub mod gate;
pub mod journal;
pub mod lake;
pub mod ops;
pub mod plan;
pub mod predicate;
pub mod progress;
pub mod source;
pub mod statement;
pub mod table;
pub mod tui;
