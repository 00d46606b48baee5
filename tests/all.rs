//! One binary for all integration tests: it links the engines once.

mod predicate;
