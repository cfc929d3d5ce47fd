//! The words of the language as values: what a Plan is made of, and what an
//! expectation is made of. Reads no text and judges nothing.

mod batch;
pub mod counter;
pub mod expected;
mod job;
mod limits;
pub mod matcher;
pub mod moment;
pub mod plan;
pub(crate) mod scope;
pub mod template;
