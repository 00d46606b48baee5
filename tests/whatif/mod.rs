//! Looking before a switch of partition columns, health, and vacuum.

mod breakers;
mod cli;
mod layouts;
mod vacuum;
mod vacuum_property;
