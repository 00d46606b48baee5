//! Faults that engineers reported, each with its input and the right answer.
//! The numbers are those of the list of cases.

mod append;
mod browse;
mod clauses;
mod conflicts;
mod journal;
mod kept;
mod keys;
mod log;
mod long;
mod many;
mod protocol;
mod replace_where;
mod restore;
mod road;
mod rollback;
mod scope;
mod slice;
mod switched;
mod values;
mod zones;
