//! Scripted HTTP servers that misbehave at exact points and count exactly
//! what arrived.
//!
//! The parts, in the order in which a request meets them: [`script`] says what
//! each server shall do, [`wire`] are the programs an answer is made of,
//! [`server`] listens and runs them, [`event`] is what it saw, [`record`] where
//! it puts that, and [`ledger`] counts it. [`clock`] is the only source of time.
//! This crate knows no scenario, no client and no verdict.

pub mod clock;
pub mod event;
pub mod record;
pub mod script;
pub mod wire;
