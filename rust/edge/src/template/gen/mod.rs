//! Generated tables.

pub mod printable;
