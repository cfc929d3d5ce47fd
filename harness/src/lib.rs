//! wirefault: runs Plans against clients and holds the clients to account.

pub mod baseline;
pub mod cell;
pub mod cli;
pub mod clients;
pub mod command;
pub mod command_client;
pub mod doctor;
pub mod evidence;
pub mod exit;
pub mod failure;
pub mod id;
pub mod launch;
pub mod mistakes;
pub mod output;
pub mod plan_run;
pub mod planned;
pub mod progress;
pub mod protocol;
pub mod root;
pub mod run;
pub mod run_folder;
#[cfg(test)]
mod samples;
pub mod selection;
pub mod selftest;
pub mod suite;
pub mod surroundings;
mod system;
pub mod version;
pub mod words;
