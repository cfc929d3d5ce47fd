//! Renderings of a run record. Pure functions to bytes: nothing here reads the
//! clock, the environment or a file.
//!
//! [`record`] is the run as data, [`formats`] turns it into bytes, one file a
//! format; [`harmless`] and [`redact`] keep what clients and servers said from
//! doing harm in any of them.

pub mod detail;
pub mod formats;
pub mod harmless;
pub mod layout;
pub mod record;
pub mod redact;
pub mod table;
pub mod time;
pub mod words;
