//! How a program's entrance into virtual time went.

use serde::{Deserialize, Serialize};

use crate::unavailable::Unavailable;

/// How a program's entrance went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// It runs in virtual time.
    Traced {
        /// Its process id.
        pid: i32,
    },
    /// It runs in real time, untraced.
    Refused {
        /// Its process id.
        pid: i32,
        /// Why.
        why: Unavailable,
    },
    /// It never came: it could not be started.
    Absent,
}
