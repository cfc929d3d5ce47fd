//! What several behaviours share. Knows no single one of them.

pub(super) mod lanes;
pub(super) mod program;
pub(crate) mod shown;
