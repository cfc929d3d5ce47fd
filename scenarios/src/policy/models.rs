//! Models that a walk can not follow: it takes what they answer for a success.

use crate::plan::{Call, Request, ServerPlan};

/// Why no policy can be computed with the models of a case; none when it can.
pub(super) fn not_computable(servers: &[ServerPlan], calls: &[Call]) -> Option<&'static str> {
    if calls.iter().any(|call| call.look_up.is_some()) {
        return Some("a call says where to `look_up`, and no policy says how often to ask");
    }
    let models = servers.iter().flat_map(|server| &server.models);
    models.map(|one| &one.model).find_map(|model| {
        let shared = model.remembers().key_field().is_some_and(|name| {
            let gives = |call: &&Call| gives_field(call, name);
            calls.iter().filter(gives).count() > 1
        });
        let why = "several calls give a key of a model, and the walk takes each for a new one";
        let unwalkable = model.remembers().unwalkable();
        unwalkable.or(shared.then_some(why))
    })
}

fn gives_field(call: &Call, name: &str) -> bool {
    match &call.request {
        Request::Literal { headers, .. } => {
            let mut names = headers.iter().map(|(field, _)| field);
            names.any(|field| field.eq_ignore_ascii_case(name))
        }
        Request::Operation { .. } => false,
    }
}
