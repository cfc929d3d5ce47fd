//! wirefault: runs Plans against clients and holds the clients to account.

pub mod cell;
pub mod command;
pub mod evidence;
pub mod launch;
pub mod protocol;
pub mod run;
mod system;
