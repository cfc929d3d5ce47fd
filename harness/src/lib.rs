//! wirefault: runs Plans against clients and holds the clients to account.

pub mod run;
mod system;
