//! HTTP clients of the Rust ecosystem, as programs under test.
