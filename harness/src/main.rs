//! The binary `wirefault`.

fn main() {}
