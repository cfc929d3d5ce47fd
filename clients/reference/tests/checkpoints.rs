//! A client that is killed in the middle and started again with the same work, in the
//! same folder.

mod support;

use client_kit::messages::Messages;
use client_kit::protocol::{Limits, Message, VERSION, Work};
use client_kit::session::Controls;
use reference_client::checkpoints::Checkpoints;
use reference_client::defects::{Defect, Defects};
use support::{Act, Server, answer, call, ok};

/// Makes three calls; each is a POST to its own path.
struct Scene {
    server: Server,
    work: Work,
    folder: tempfile::TempDir,
}

#[expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
impl Scene {
    fn new(keys: bool, script: Vec<Act>) -> Self {
        let server = Server::start(script);
        let calls = (1..=3).map(|id| {
            let mut call = call("POST", server.url(&format!("/{id}")));
            call.id = id;
            if keys {
                call.headers
                    .push(("Idempotency-Key".to_owned(), format!("k-{id}")));
            }
            call
        });
        let work = Work {
            protocol: VERSION,
            calls: calls.collect(),
            limits: Limits {
                attempts: Some(1),
                ..Limits::default()
            },
        };
        Self {
            work,
            server,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Runs the client until it has said so many reports; then nobody hears it any more.
    fn run(&self, most: usize, defects: &Defects) -> Vec<u32> {
        let sink = Sink::until(most);
        let checkpoints = Checkpoints::in_file(&self.folder.path().join("kept")).unwrap();
        let messages = Messages::to(sink.clone());
        let _ = reference_client::program::run_on(
            checkpoints,
            &self.work,
            defects,
            (&messages, &Controls::default()),
        );
        sink.reports()
    }

    fn keys(&self) -> Vec<String> {
        let seen = self.server.seen();
        let key = |seen: &client_kit::conformance::Seen| {
            let mut fields = seen.headers.iter();
            let key = fields.find(|(name, _)| name.eq_ignore_ascii_case("idempotency-key"));
            key.map(|(_, value)| value.clone())
                .unwrap_or_else(|| seen.target.clone())
        };
        seen.iter().map(key).collect()
    }
}

/// Takes messages until enough of them are reports; the next one breaks the pipe.
#[derive(Clone)]
struct Sink(std::sync::Arc<std::sync::Mutex<(Vec<u8>, usize)>>);

#[expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
impl Sink {
    fn until(most: usize) -> Self {
        Self(std::sync::Arc::new(std::sync::Mutex::new((
            Vec::new(),
            most,
        ))))
    }

    fn reports(&self) -> Vec<u32> {
        let text = String::from_utf8(self.0.lock().unwrap().0.clone()).unwrap();
        let messages = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let reports = messages.filter_map(|message| match message {
            Message::Report(report) => Some(report.call),
            _ => None,
        });
        reports.collect()
    }
}

#[expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
impl std::io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut heard = self.0.lock().unwrap();
        let reports = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.matches("\"report\"").count()
        };
        if reports(&heard.0) >= heard.1 {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        }
        heard.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_was_done_is_told_again_and_not_done_again() {
    let scene = Scene::new(false, vec![ok(), ok(), ok()]);
    assert_eq!(scene.run(2, &Defects::default()), [1, 2]);
    assert_eq!(scene.run(3, &Defects::default()), [1, 2, 3]);
    assert_eq!(scene.keys(), ["/1", "/2", "/3"]);
}

#[test]
fn who_forgets_what_was_done_does_it_again() {
    let scene = Scene::new(false, vec![ok(), ok(), ok(), ok(), ok()]);
    let forgets = Defects::default().with(Defect::ForgetsWhatWasDone);
    scene.run(2, &forgets);
    assert_eq!(scene.run(3, &forgets), [1, 2, 3]);
    assert_eq!(scene.keys(), ["/1", "/2", "/1", "/2", "/3"]);
}

#[test]
fn keys_are_the_same_after_a_restart_unless_they_are_made_anew() {
    for (defect, expected) in [
        (None, ["k-1", "k-2", "k-3"]),
        (
            Some(Defect::NewKeyAfterRestart),
            ["k-1", "k-2", "k-3-again"],
        ),
    ] {
        let scene = Scene::new(true, vec![ok(), ok(), ok()]);
        let defects = defect.map_or_else(Defects::default, |one| Defects::default().with(one));
        scene.run(2, &defects);
        scene.run(3, &defects);
        assert_eq!(scene.keys(), expected);
    }
}

/// The file says that the call was begun, and not how it ended.
#[test]
fn what_was_under_way_is_sent_again_only_where_it_may_arrive_twice() {
    for (keys, expected) in [
        (false, ["/2", "/3"].as_slice()),
        (true, &["k-1", "k-2", "k-3"]),
    ] {
        let scene = Scene::new(keys, vec![Act::Send(answer(200, "", "ok")), ok(), ok()]);
        std::fs::write(scene.folder.path().join("kept"), "{\"begun\":1}\n").unwrap();
        assert_eq!(scene.run(3, &Defects::default()), [1, 2, 3]);
        assert_eq!(scene.keys(), expected);
    }
}
