//! What a call sends, checked once and sent as often as the policy allows.

use std::sync::Arc;

use client_kit::protocol::Call;

use crate::codec::{self, Content, Outgoing};
use crate::defects::{Defect, Defects};
use crate::failure::{Failure, Kind};
use crate::url::Url;

/// A request that can be sent.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Method.
    pub(crate) method: String,
    /// Where it goes.
    pub(crate) url: Url,
    /// Fields in order.
    pub(crate) fields: Vec<(String, String)>,
    /// Content.
    pub(crate) content: Option<Arc<[u8]>>,
    /// Whether the content goes as a stream.
    pub(crate) streamed: bool,
}

impl Request {
    /// The request of a call; the call's number goes along.
    pub(crate) fn of(call: &Call) -> Result<Self, Failure> {
        let unusable = |note: String| Failure::new(Kind::Unusable, note);
        if !codec::is_token(&call.method) {
            return Err(unusable(format!("not a method: {:?}", call.method)));
        }
        let bad =
            |(name, value): &&(String, String)| !codec::is_token(name) || !codec::is_value(value);
        if let Some((name, _)) = call.headers.iter().find(bad) {
            return Err(unusable(format!("not a header field: {name:?}")));
        }
        let url = Url::parse(&call.url)
            .ok_or_else(|| unusable(format!("not an http URL: {:?}", call.url)))?;
        let content = match &call.body {
            None => None,
            Some(body) => Some(body.load().map_err(|error| {
                Failure::new(Kind::Unusable, "the content cannot be read").caused_by(error)
            })?),
        };
        let mut fields = call.headers.clone();
        fields.push((CALL.to_owned(), call.id.to_string()));
        Ok(Self {
            method: call.method.clone(),
            url,
            fields,
            content: content.map(Arc::from),
            streamed: call.stream_body,
        })
    }

    /// Says of which calls it is, where that is more than one.
    pub(crate) fn is_of(&mut self, calls: &str) {
        for (name, value) in &mut self.fields {
            if name == CALL {
                calls.clone_into(value);
            }
        }
    }

    /// Whether it may arrive twice: by its method (RFC 9110 section 9.2.2), or
    /// since the server takes it only once (section 13.1).
    pub(crate) fn may_arrive_twice(&self, defects: &Defects) -> bool {
        let by_method = matches!(
            &*self.method,
            "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE"
        );
        by_method
            || self.fields.iter().any(|(name, _)| is_guard(name))
            || (self.content.is_none() && defects.has(Defect::ResendsEmptyPosts))
    }

    /// As it goes on the wire.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let authority = self.url.origin.to_string();
        codec::encode(&Outgoing {
            method: &self.method,
            target: &self.url.target,
            authority: authority.strip_suffix(":80").unwrap_or(&authority),
            fields: &self.fields,
            content: match &self.content {
                None => Content::None,
                Some(content) if self.streamed => Content::Stream(content),
                Some(content) => Content::Whole(content),
            },
        })
    }

    /// The same request as attempt number `attempt` of a careless client sends it.
    pub(crate) fn again(&self, attempt: u32, defects: &Defects) -> Self {
        let mut again = if defects.has(Defect::DropsBodyOnRetry) {
            self.without_content()
        } else {
            self.clone()
        };
        if defects.has(Defect::DropsPreconditionsOnRetry) {
            again
                .fields
                .retain(|(name, _)| is_key(name) || !is_guard(name));
        }
        if defects.has(Defect::NewKeyEachAttempt) {
            again.change_keys(&attempt.to_string());
        }
        again
    }

    /// Makes other keys of its keys.
    pub(crate) fn change_keys(&mut self, by: &str) {
        let keys = self.fields.iter_mut().filter(|(name, _)| is_key(name));
        keys.for_each(|(_, value)| value.push_str(&format!("-{by}")));
    }

    /// The same request without its content.
    pub(crate) fn without_content(&self) -> Self {
        let mut bare = self.clone();
        bare.content = None;
        bare.fields
            .retain(|(name, _)| !name.to_ascii_lowercase().starts_with("content-"));
        bare
    }
}

/// The field that tells the number of a call.
const CALL: &str = "Wirefault-Call";

/// Fields by which a server does the same work once only.
const GUARDS: [&str; 4] = [
    "If-Match",
    "If-None-Match",
    "If-Unmodified-Since",
    IDEMPOTENCY_KEY,
];
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

fn is_guard(name: &str) -> bool {
    GUARDS.iter().any(|guard| guard.eq_ignore_ascii_case(name))
}

fn is_key(name: &str) -> bool {
    name.eq_ignore_ascii_case(IDEMPOTENCY_KEY)
}
