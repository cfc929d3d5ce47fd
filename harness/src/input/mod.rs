//! What is read before anything runs: the root, the scenarios and which of them
//! are meant, the words of the language, and what is wrong in any of it.
//! Nothing here starts a program.

pub mod folder;
pub mod mistakes;
pub mod root;
pub mod selection;
pub mod suite;
pub mod words;
