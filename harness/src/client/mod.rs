//! Clients: which are known, how they are started, and how they are spoken with.
//! Nothing here knows cells or servers.

pub mod ad_hoc;
pub mod build;
pub mod command;
pub mod known;
pub mod protocol;
pub mod version;
