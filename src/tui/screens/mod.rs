//! One file a place: what it knows, and how it is drawn. What keys and answers
//! do to it is in `update`.

pub mod apply;
pub mod changes;
pub mod compare;
pub mod compare_gates;
pub mod compare_rows;
pub mod current;
pub mod effect_pane;
pub mod effects;
pub mod files;
pub mod form;
pub mod gates;
pub mod health;
pub mod history;
pub mod keys;
pub mod lake;
pub mod layouts;
pub mod layouts_detail;
pub mod layouts_table;
pub mod overview;
pub mod partitions;
pub mod paste;
pub mod rows;
pub mod schema;
pub mod table;
pub mod wanted;
