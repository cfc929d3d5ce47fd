//! What models make of an answer: their status, fields and content, in the wire's
//! way of the step.

use scripted_servers::models::ListedEvent;

use super::{Respond, decode};
use crate::document::decode::Keys;
use crate::document::kind::{Kind, Rule};
use crate::document::{Node, ids};
use crate::faults::{Answered, ByModel};
use crate::plan::{Content, SentEvent};
use crate::reading::{Reading, all_good, content};
use crate::template::Template;

static DENIAL: Keys = Keys::new(
    "`deny`",
    &[
        ("status", "the status code", || Kind::Number(400..=599)),
        ("headers", "header fields by name", decode::headers_kind),
        (
            "retry_after",
            "`{seconds}`, `{date_in}` or `{text}`",
            || Kind::Map(&decode::RETRY_AFTER),
        ),
        ("body", "the content", content::answer_body),
    ],
)
.rules(&[Rule::Needs(&["status"])])
.elsewhere(&[
    ("delay", "the step"),
    ("cut", "the step, or its `respond`"),
    ("framing", "`respond` of the step"),
]);

/// The answer to what a model denies.
pub(crate) fn denial_kind() -> Kind {
    Kind::Map(&DENIAL)
}

/// Reads the answer to what a model denies.
pub(crate) fn denial(node: &Node, reading: &mut Reading<'_>) -> Option<Respond> {
    let fields = node.fields(&DENIAL, reading.out)?;
    let status = fields.need("status", reading.out);
    let status = status.and_then(|node| node.number("a status", 400..=599, reading.out));
    let headers = fields.get("headers");
    let headers = headers.map(|node| decode::headers(node, reading));
    let retry_after = fields.get("retry_after");
    let retry_after = retry_after.map(|node| decode::retry_after(node, reading));
    let body = fields.get("body").map(|node| {
        let body = reading.answer_body(node)?;
        if matches!(body, Content::Endless(_) | Content::Events(_)) {
            reading
                .out
                .report(ids::CANNOT_FIRE, &node.span, "a denial is short")
                .label("this never ends, or is a list of events")
                .help("write `text`, `json` or `shape: error`");
            return None;
        }
        Some(body)
    });
    Some(Respond {
        status: u16::try_from(status?).ok()?,
        headers: all_good(headers)?.unwrap_or_default(),
        retry_after: all_good(retry_after)?,
        body: all_good(body)?,
        ..Respond::plain()
    })
}

impl Respond {
    /// This answer with what models decided. A failure that the step itself writes
    /// stands, as it hides what the application did; of a success the step's own
    /// status and content stand, and the rest is the model's.
    pub(super) fn merged(&self, given: &ByModel<'_>) -> Self {
        let mut merged = Self {
            by_model: false,
            ..self.clone()
        };
        let hides = !self.by_model && !is_success(self.status);
        match given.answered {
            None => {}
            Some(_) if hides => {}
            Some(Answered::Denial(denial)) => {
                merged.status = denial.status;
                merged.headers.clone_from(&denial.headers);
                merged.retry_after.clone_from(&denial.retry_after);
                merged.body.clone_from(&denial.body);
            }
            Some(Answered::Reply(reply)) => {
                let good = is_success(reply.status);
                if self.by_model || !good {
                    merged.status = reply.status;
                }
                if !good {
                    merged.headers.clear();
                    merged.retry_after = None;
                }
                if !good || merged.body.is_none() {
                    let content = (!reply.content.is_empty()).then(|| reply.content.clone());
                    merged.set_content(content.map(Content::Hex), reply.media);
                }
            }
            Some(Answered::List(events)) if merged.body.is_none() => {
                let events = events.iter().map(sent_event).collect();
                merged.set_content(Some(Content::Events(events)), "text/event-stream");
            }
            Some(Answered::List(_)) => {}
        }
        if merged.has_no_content() {
            merged.body = None;
        }
        let fields = given.fields.iter();
        let fields = fields.map(|(name, value)| (name.clone(), Template::text(value)));
        merged.headers.extend(fields);
        merged
    }

    fn set_content(&mut self, content: Option<Content>, media: &str) {
        self.body = content;
        let mut names = self.headers.iter().map(|(name, _)| name);
        if self.body.is_some() && !names.any(|name| name.eq_ignore_ascii_case("content-type")) {
            let media = Template::text(media);
            self.headers.push(("Content-Type".to_owned(), media));
        }
    }
}

fn sent_event(event: &ListedEvent) -> SentEvent {
    SentEvent {
        id: event.id.clone(),
        event: None,
        data: event.data.clone(),
    }
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}
