//! hyper-util's legacy client: hyper with a pool of connections.
//!
//! It follows no redirects and sends nothing again, but for one case of its own:
//! a request that it can prove to be unsent because its used connection had
//! already ended. Limits `connect` (the connector's) and `total` (a timer here,
//! since the client has none) are kept.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use client_kit::chain::chain;
use client_kit::digest::BodyDigest;
use client_kit::protocol::{Call, ErrorLink, Limits, ShownResponse};
use client_kit::session::Session;
use http_body_util::BodyExt;
use hyper::Request;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use tokio::task::JoinSet;

use crate::content::Content;
use crate::locked;

type Failure = Box<dyn Error + Send + Sync>;

/// Runs the client with its arguments, the program's name left out.
pub fn hyper_util(args: impl IntoIterator<Item = String>) -> ExitCode {
    let args: Vec<String> = args.into_iter().collect();
    match args.first().map(String::as_str) {
        None => match serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say(&mut io::stderr(), &format!("{error}\n"));
                ExitCode::FAILURE
            }
        },
        Some("--version") => {
            let (util, hyper) = (locked::version("hyper-util"), locked::version("hyper"));
            say(
                &mut io::stdout(),
                &format!("hyper-util {util} (hyper {hyper})\n"),
            );
            ExitCode::SUCCESS
        }
        Some(other) => {
            let text = format!("{other:?} is no argument; there is only --version\n");
            say(&mut io::stderr(), &text);
            ExitCode::from(2)
        }
    }
}

fn serve() -> Result<(), Failure> {
    let session = Session::open()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let client = client(&session.work.limits);
        let total = session.work.limits.total_ms.map(Duration::from_millis);
        for group in session.work.groups() {
            let group: Arc<[Call]> = group.into();
            let next = Arc::new(AtomicUsize::new(0));
            let at_once = group.first().map_or(1, |call| call.at_once);
            let mut workers = JoinSet::new();
            for _ in 0..at_once {
                let (client, messages) = (client.clone(), session.messages.clone());
                let (group, next) = (group.clone(), next.clone());
                // Whoever is free takes the next one.
                workers.spawn(async move {
                    while let Some(call) = group.get(next.fetch_add(1, Ordering::Relaxed)) {
                        pause(Duration::from_millis(call.pause_ms)).await;
                        match within(total, make(&client, call)).await {
                            Ok(response) => messages.response(call.id, response)?,
                            Err(error) => messages.error(call.id, links(error.as_ref()))?,
                        }
                    }
                    io::Result::Ok(())
                });
            }
            while let Some(ended) = workers.join_next().await {
                ended??;
            }
        }
        // Connections live on meanwhile, so that whatever they still do is seen.
        let controls = session.controls.clone();
        tokio::task::spawn_blocking(move || controls.wait_for_finish()).await?;
        Ok(())
    })
}

fn client(limits: &Limits) -> Client<HttpConnector, Content> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(limits.connect_ms.map(Duration::from_millis));
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .build(connector)
}

async fn make(
    client: &Client<HttpConnector, Content>,
    call: &Call,
) -> Result<ShownResponse, Failure> {
    let mut request = Request::builder()
        .method(call.method.as_str())
        .uri(&call.url)
        .header("Wirefault-Call", call.id);
    for (name, value) in &call.headers {
        request = request.header(name, value);
    }
    let content = call.body.as_ref().map(|body| body.load()).transpose()?;
    let content = Content::new(content.unwrap_or_default(), call.stream_body);
    let response = client.request(request.body(content)?).await?;
    let status = response.status().as_u16();
    let mut body = response.into_body();
    let mut digest = BodyDigest::new();
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame?.data_ref() {
            digest.add(data);
        }
    }
    Ok(digest.whole(status))
}

/// The limit `total` has passed.
#[derive(Debug)]
struct TotalTimeout(Duration);

impl fmt::Display for TotalTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no whole answer within {:?}", self.0)
    }
}

impl Error for TotalTimeout {}

#[expect(
    clippy::disallowed_methods,
    reason = "a client under test runs on its own time, not on the cell's clock"
)]
async fn within<T>(
    total: Option<Duration>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let Some(total) = total else {
        return work.await;
    };
    tokio::time::timeout(total, work)
        .await
        .unwrap_or_else(|_| Err(TotalTimeout(total).into()))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a client under test runs on its own time, not on the cell's clock"
)]
async fn pause(pause: Duration) {
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
}

fn links(error: &(dyn Error + 'static)) -> Vec<ErrorLink> {
    chain(error, code)
}

/// The libraries' own words for their errors, which only methods tell.
fn code(error: &(dyn Error + 'static)) -> Option<String> {
    let word = if let Some(error) = error.downcast_ref::<legacy::Error>() {
        if error.is_connect() {
            "Connect"
        } else {
            "SendRequest"
        }
    } else if let Some(error) = error.downcast_ref::<hyper::Error>() {
        match error {
            error if error.is_incomplete_message() => "IncompleteMessage",
            error if error.is_parse() => "Parse",
            error if error.is_canceled() => "Canceled",
            error if error.is_timeout() => "Timeout",
            error if error.is_body_write_aborted() => "BodyWriteAborted",
            error if error.is_closed() => "ChannelClosed",
            _ => return None,
        }
    } else if error.is::<TotalTimeout>() {
        "TotalTimeout"
    } else {
        return None;
    };
    Some(word.to_owned())
}

/// When even this cannot be written there is nobody left to tell.
fn say(out: &mut impl Write, text: &str) {
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
