//! After an unknown outcome the truth is asked for, where somebody knows it: what
//! was done is taken, what was not is sent again, and where nobody can tell the call
//! is held for a person.

use client_kit::protocol::Call;

use crate::call::{Client, History};
use crate::defects::Defect;
use crate::failure::{Failure, Kind};
use crate::policy::Patience;
use crate::request::Request;
use crate::retry::Ended;

/// Where to ask about a call.
pub(crate) struct LookUp(Option<Request>);

/// What is known after an attempt of unknown outcome.
pub(crate) enum Truth {
    /// It was done; this tells of it.
    Done(Ended),
    /// It was not done.
    NotDone,
    /// Nobody can tell.
    Unknown,
    /// There is nobody to ask, or nothing to ask about.
    NotAsked,
}

impl LookUp {
    /// Where the call says that the truth is known.
    pub(crate) fn of(call: &Call) -> Result<Self, Failure> {
        let request = call.look_up.as_ref().map(|url| {
            Request::of(&Call {
                method: "GET".to_owned(),
                url: url.clone(),
                headers: Vec::new(),
                body: None,
                ..call.clone()
            })
        });
        request.transpose().map(Self)
    }
}

impl Client {
    /// Asks what became of an attempt, if that is unknown.
    pub(crate) fn truth(
        &self,
        ended: &Ended,
        look_up: &LookUp,
        patience: &Patience,
        history: &mut History,
    ) -> Truth {
        let Some(request) = look_up.0.as_ref().filter(|_| is_unknown(ended)) else {
            return Truth::NotAsked;
        };
        if self.defects.has(Defect::SendsAgainUnasked) {
            return Truth::NotDone;
        }
        let mut asked = 0;
        loop {
            asked += 1;
            let answer = self.attempt(request, patience, history);
            let Some(wait) = self.wait(true, &answer, asked, history, patience) else {
                return match &answer {
                    Ok(found) if matches!(found.status, 200..=299) => Truth::Done(answer),
                    Ok(missing) if missing.status == 404 => Truth::NotDone,
                    _ => Truth::Unknown,
                };
            };
            self.sleep(wait, patience, history);
        }
    }
}

/// Whether nobody knows what became of a request that was sent.
fn is_unknown(ended: &Ended) -> bool {
    match ended {
        Ok(answer) => answer.status >= 500,
        Err(failure) => failure.kind != Kind::Cancelled && !failure.proves_unsent(),
    }
}
