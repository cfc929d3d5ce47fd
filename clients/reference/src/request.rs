//! What a call sends, checked once and sent as often as the policy allows.

use std::sync::Arc;

use client_kit::protocol::Call;

use crate::codec::{self, Content, Outgoing};
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
        fields.push(("Wirefault-Call".to_owned(), call.id.to_string()));
        Ok(Self {
            method: call.method.clone(),
            url,
            fields,
            content: content.map(Arc::from),
            streamed: call.stream_body,
        })
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

    /// The same request without its content.
    pub(crate) fn without_content(&self) -> Self {
        let mut bare = self.clone();
        bare.content = None;
        bare.fields
            .retain(|(name, _)| !name.to_ascii_lowercase().starts_with("content-"));
        bare
    }
}
