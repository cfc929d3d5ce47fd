//! wirefault: runs Plans against clients and holds the clients to account.

pub mod baseline;
pub mod cell;
pub mod command;
pub mod evidence;
pub mod exit;
pub mod failure;
pub mod launch;
pub mod mistakes;
pub mod output;
pub mod protocol;
pub mod root;
pub mod run;
#[cfg(test)]
mod samples;
pub mod surroundings;
mod system;
