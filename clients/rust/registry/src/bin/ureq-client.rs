//! ureq, as it comes.

use std::error::Error;
use std::io::{self, Cursor};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use client_kit::chain::{chain, io_link};
use client_kit::digest::BodyDigest;
use client_kit::protocol::{Call, ErrorLink, Limits, Shown, ShownResponse};
use client_kit::session::Session;
use ureq::http::Request;
use ureq::{Agent, SendBody};

fn main() -> Result<ExitCode, Box<dyn Error + Send + Sync>> {
    if std::env::args().any(|arg| arg == "--version") {
        return Ok(registry_clients::print_versions(&["ureq"]));
    }
    let session = Session::open()?;
    let (agent, messages) = (agent(&session.work.limits), &session.messages);
    for group in session.work.groups() {
        let next = AtomicUsize::new(0);
        // Whoever is free takes the next one.
        let work = || -> io::Result<()> {
            while let Some(call) = group.get(next.fetch_add(1, Ordering::Relaxed)) {
                sleep(Duration::from_millis(call.pause_ms));
                messages.report(call.id, shown(make(&agent, call)))?;
            }
            Ok(())
        };
        scope(|threads| {
            let beside = group.first().map_or(1, |call| call.at_once);
            let workers: Vec<_> = (1..beside).map(|_| threads.spawn(work)).collect();
            work()?;
            let mut ends = workers.into_iter().filter_map(|worker| worker.join().ok());
            ends.try_for_each(|end| end)
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn agent(limits: &Limits) -> Agent {
    // A server that the work names is never to be reached through a proxy.
    let mut config = Agent::config_builder().proxy(None);
    if let Some(connect) = limits.connect_ms {
        config = config.timeout_connect(Some(Duration::from_millis(connect)));
    }
    if let Some(idle) = limits.idle_ms {
        config = config.timeout_per_read(Some(Duration::from_millis(idle)));
    }
    if let Some(total) = limits.total_ms {
        config = config.timeout_global(Some(Duration::from_millis(total)));
    }
    if let Some(redirects) = limits.redirects {
        config = config.max_redirects(redirects);
    }
    config.build().into()
}

fn make(agent: &Agent, call: &Call) -> Result<ShownResponse, ureq::Error> {
    let mut request = Request::builder()
        .method(call.method.as_str())
        .uri(&call.url)
        .header("Wirefault-Call", call.id);
    for (name, value) in &call.headers {
        request = request.header(name, value);
    }
    let content = call.body.as_ref().map(|body| body.load()).transpose()?;
    let mut response = match content {
        None => agent.run(request.body(())?)?,
        Some(content) if call.stream_body => {
            agent.run(request.body(SendBody::from_owned_reader(Cursor::new(content)))?)?
        }
        Some(content) => agent.run(request.body(content)?)?,
    };
    let mut digest = BodyDigest::new();
    digest.add(&response.body_mut().read_to_vec()?);
    Ok(digest.whole(response.status().as_u16()))
}

/// A status that ureq does not like is an error with that number and no content.
fn shown(answer: Result<ShownResponse, ureq::Error>) -> Shown {
    match answer {
        Ok(response) => Shown::Response(response),
        Err(ureq::Error::StatusCode(status)) => Shown::Response(ShownResponse {
            status: Some(status),
            ..ShownResponse::default()
        }),
        Err(error) => Shown::Error(links(&error)),
    }
}

/// ureq's errors have no sources. The one of the operating system is inside of its own.
fn links(error: &ureq::Error) -> Vec<ErrorLink> {
    let mut links = chain(error, |_| None);
    if let ureq::Error::Io(inner) = error {
        links.push(ErrorLink {
            at: Some("error.0".to_owned()),
            ..io_link(inner)
        });
    }
    links
}
