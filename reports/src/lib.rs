//! Renderings of a run record. Pure functions to bytes.

pub mod record;
