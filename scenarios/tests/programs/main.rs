//! Faults as wire programs: which bytes, in which order, with which end.

mod answers;
mod ends;
mod list;
mod pace;
mod properties;
mod support;
