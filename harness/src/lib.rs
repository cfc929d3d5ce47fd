//! wirefault: runs Plans against clients and holds the clients to account.

pub mod baseline;
pub mod cell;
pub mod cli;
pub mod client;
pub mod comparison;
pub mod differences;
pub mod doctor;
pub mod exit;
pub mod failure;
pub mod id;
pub mod input;
pub mod launch;
pub mod output;
mod priority;
pub mod run;
#[cfg(test)]
mod samples;
pub mod selftest;
pub mod surroundings;
mod system;
