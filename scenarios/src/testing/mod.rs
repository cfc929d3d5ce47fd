//! Cases, manifests and evidence for the tests of this crate.

mod case;
mod expectations;
mod story;

pub(crate) use self::case::{cut, cut_after, manifest, plan, redirect, respond, server, step, url};
pub(crate) use self::expectations::{between, count, delivered, effect, exactly, job, of_call};
pub(crate) use self::story::Story;
