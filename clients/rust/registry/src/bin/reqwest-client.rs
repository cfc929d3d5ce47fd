//! reqwest, as it comes; with the argument `retry`, in reqwest-middleware with the retries
//! that its README shows, but for their jitter. It would make each wait anything from 0 on,
//! so that no two runs were alike.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use client_kit::chain::chain;
use client_kit::digest::BodyDigest;
use client_kit::protocol::{Call, Limits, Shown, ShownResponse};
use client_kit::session::{Controls, Session};
use reqwest::{Body, Method, Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::{Jitter, RetryTransientMiddleware, policies::ExponentialBackoff};
use tokio::sync::oneshot;
use tokio::task::{JoinSet, spawn_blocking};

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<ExitCode, Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let retry = args.iter().any(|arg| arg == "retry");
    if args.iter().any(|arg| arg == "--version") {
        let crates = ["reqwest", "reqwest-middleware", "reqwest-retry"];
        let used = if retry { &crates[..] } else { &crates[..1] };
        return Ok(registry_clients::print_versions(used));
    }
    let session = Session::open()?;
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build()?;
    runtime.block_on(serve(session, retry))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(session: Session, retry: bool) -> Result<(), Failure> {
    let client = Client::new(&session.work.limits, retry)?;
    for group in session.work.groups() {
        let group: Arc<[Call]> = group.into();
        let next = Arc::new(AtomicUsize::new(0));
        let mut workers = JoinSet::new();
        for _ in 0..group.first().map_or(1, |call| call.at_once) {
            let (client, messages) = (client.clone(), session.messages.clone());
            let (group, next, controls) = (group.clone(), next.clone(), session.controls.clone());
            // Whoever is free takes the next one.
            workers.spawn(async move {
                while let Some(call) = group.get(next.fetch_add(1, Ordering::Relaxed)) {
                    tokio::time::sleep(Duration::from_millis(call.pause_ms)).await;
                    let shown = unless_cancelled(&controls, call.id, make(&client, call)).await;
                    messages.report(call.id, shown)?;
                }
                io::Result::Ok(())
            });
        }
        while let Some(ended) = workers.join_next().await {
            ended??;
        }
    }
    // Connections live on meanwhile, so that whatever they still do is seen.
    spawn_blocking(move || session.controls.wait_for_finish()).await?;
    Ok(())
}

/// A call is cancelled as everything is in Rust: its future is dropped.
async fn unless_cancelled(
    controls: &Controls,
    call: u32,
    answer: impl Future<Output = Result<ShownResponse, Failure>>,
) -> Shown {
    let (tell, told) = oneshot::channel();
    controls.when_cancelled(call, move || {
        // Whoever does not listen any more has reported.
        let _ = tell.send(());
    });
    tokio::select! {
        Ok(()) = told => Shown::Cancelled {},
        answer = answer => match answer {
            Ok(response) => Shown::Response(response),
            Err(error) => Shown::Error(chain(error.as_ref(), code)),
        },
    }
}

async fn make(client: &Client, call: &Call) -> Result<ShownResponse, Failure> {
    let mut response = client.send(request(call)?).await?;
    let mut digest = BodyDigest::new();
    while let Some(piece) = response.chunk().await? {
        digest.add(&piece);
    }
    Ok(digest.whole(response.status().as_u16()))
}

fn request(call: &Call) -> Result<Request, Failure> {
    let mut request = Request::new(
        Method::from_bytes(call.method.as_bytes())?,
        call.url.parse()?,
    );
    let headers = request.headers_mut();
    headers.append("Wirefault-Call", call.id.into());
    for (name, value) in &call.headers {
        headers.append(name.parse::<reqwest::header::HeaderName>()?, value.parse()?);
    }
    if let Some(body) = &call.body {
        let content = body.load()?;
        *request.body_mut() = Some(if call.stream_body {
            let pieces: Vec<_> = content.chunks(16 * 1024).map(<[u8]>::to_vec).collect();
            Body::wrap_stream(futures_util::stream::iter(
                pieces.into_iter().map(Ok::<_, Infallible>),
            ))
        } else {
            content.into()
        });
    }
    Ok(request)
}

#[derive(Clone)]
enum Client {
    Plain(reqwest::Client),
    Retrying(ClientWithMiddleware),
}

impl Client {
    fn new(limits: &Limits, retry: bool) -> Result<Self, Failure> {
        // A server that the work names is never to be reached through a proxy.
        let mut client = reqwest::Client::builder().no_proxy();
        if let Some(connect) = limits.connect_ms {
            client = client.connect_timeout(Duration::from_millis(connect));
        }
        if let Some(idle) = limits.idle_ms {
            client = client.read_timeout(Duration::from_millis(idle));
        }
        if let Some(total) = limits.total_ms {
            client = client.timeout(Duration::from_millis(total));
        }
        if let Some(redirects) = limits.redirects {
            client = client.redirect(reqwest::redirect::Policy::limited(redirects as usize));
        }
        let client = client.build()?;
        if !retry {
            return Ok(Self::Plain(client));
        }
        let retries = limits
            .attempts
            .map_or(3, |attempts| attempts.saturating_sub(1));
        let policy = ExponentialBackoff::builder().jitter(Jitter::None);
        let policy = policy.build_with_max_retries(retries);
        let retrying = RetryTransientMiddleware::new_with_policy(policy);
        Ok(Self::Retrying(
            ClientBuilder::new(client).with(retrying).build(),
        ))
    }

    async fn send(&self, request: Request) -> Result<Response, Failure> {
        Ok(match self {
            Self::Plain(client) => client.execute(request).await?,
            Self::Retrying(client) => client.execute(request).await?,
        })
    }
}

/// reqwest's own word for its errors, which only methods tell. The first that fits: an error
/// is of connecting and of a timeout at the same time.
fn code(error: &(dyn Error + 'static)) -> Option<String> {
    let of_middleware = error.downcast_ref().and_then(|error| match error {
        reqwest_middleware::Error::Reqwest(error) => Some(error),
        reqwest_middleware::Error::Middleware(_) => None,
    });
    let error: &reqwest::Error = error.downcast_ref().or(of_middleware)?;
    let word = match error {
        error if error.is_connect() => "Connect",
        error if error.is_timeout() => "Timeout",
        error if error.is_redirect() => "Redirect",
        error if error.is_body() => "Body",
        error if error.is_decode() => "Decode",
        error if error.is_builder() => "Builder",
        error if error.is_request() => "Request",
        _ => return None,
    };
    Some(word.to_owned())
}
