//! Faults that engineers reported, each with its input and the right answer.
//! The numbers are those of the list of cases.

mod append;
mod browse;
mod clauses;
mod journal;
mod keys;
mod log;
mod many;
mod replace_where;
mod restore;
mod road;
mod rollback;
mod scope;
mod slice;
mod values;
mod zones;
