//! Real programs of several runtimes, unmodified, see their true virtual times.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::net::TcpListener;
use std::time::Duration;

use support::{CLIENT, Ran, can_trace, installed, launcher, run, run_in, run_with, within};
use virtual_time::{Options, Tracer, VirtualTime};

/// A program that prints how many seconds it has slept by its own clocks.
fn sleeps(ran: Ran, seconds: f64, late: f64) {
    let ran = ran.checked();
    for seen in ran.stdout().split_whitespace() {
        let seen: f64 = seen.parse().unwrap();
        assert!(
            (seconds - 0.005..seconds + late).contains(&seen),
            "{ran:#?}"
        );
    }
    within(ran.virtual_time, seconds, seconds + 8.0);
    within(ran.real, 0.0, 45.0);
}

#[test]
fn sleep_takes_a_minute() {
    if !can_trace() {
        return;
    }
    let ran = run(&["sleep", "60"]).checked();
    within(ran.virtual_time, 60.0, 70.0);
    within(ran.real, 0.0, 45.0);
    assert_eq!(ran.record.jumps, 1);
    let held = &ran.record.held[0];
    assert_eq!(
        (held.thread.as_str(), held.call.as_str()),
        ("sleep", "clock_nanosleep")
    );
    assert!(
        (59_900_000_000..=60_000_000_000).contains(&held.ns),
        "{held:?}"
    );
}

#[test]
fn a_statically_linked_program_takes_a_minute() {
    if !can_trace() {
        return;
    }
    let program = std::env::temp_dir().join(format!("virtual-time-static-{}", std::process::id()));
    let source = program.with_extension("c");
    std::fs::write(&source, "#include <stdio.h>\n#include <time.h>\n#include <unistd.h>\nint main(void){struct timespec a,b;clock_gettime(CLOCK_MONOTONIC,&a);sleep(60);clock_gettime(CLOCK_MONOTONIC,&b);printf(\"%f\",b.tv_sec-a.tv_sec+(b.tv_nsec-a.tv_nsec)/1e9);}\n").unwrap();
    let (program, source) = (program.to_str().unwrap(), source.to_str().unwrap());
    if installed("cc", &["-static", "-o", program, source]) {
        sleeps(run(&[program]), 60.0, 2.0);
        std::fs::remove_file(program).unwrap();
    }
    std::fs::remove_file(source).unwrap();
}

#[test]
fn python_sleeps_a_minute() {
    if !can_trace() {
        return;
    }
    if installed("python3", &["-c", "pass"]) {
        let script = "import time; a=time.time(); b=time.monotonic(); time.sleep(60); print(time.time()-a, time.monotonic()-b)";
        sleeps(run(&["python3", "-c", script]), 60.0, 2.0);
    }
}

#[test]
fn node_waits_a_minute() {
    if !can_trace() {
        return;
    }
    if installed("node", &["-e", "0"]) {
        let script = "const a=Date.now(), b=performance.now(); setTimeout(()=>console.log((Date.now()-a)/1000, (performance.now()-b)/1000), 60000)";
        sleeps(run(&["node", "-e", script]), 60.0, 2.0);
    }
}

#[test]
fn go_sleeps_a_minute() {
    if !can_trace() {
        return;
    }
    if !installed("go", &["version"]) {
        return;
    }
    let folder = std::env::temp_dir().join(format!("virtual-time-go-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, program) = (folder.join("main.go"), folder.join("main"));
    std::fs::write(&source, "package main\nimport (\"fmt\"; \"time\")\nfunc main() { a := time.Now(); time.Sleep(time.Minute); fmt.Println(time.Since(a).Seconds()) }\n").unwrap();
    let (source, program) = (source.to_str().unwrap(), program.to_str().unwrap());
    if installed("go", &["build", "-o", program, source]) {
        sleeps(run(&[program]), 60.0, 2.0);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn java_sleeps_a_minute() {
    if !can_trace() {
        return;
    }
    if !installed("java", &["-version"]) {
        return;
    }
    let folder = std::env::temp_dir().join(format!("virtual-time-java-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("Main.java");
    std::fs::write(&source, "class Main { public static void main(String[] x) throws Exception { long a = System.nanoTime(); Thread.sleep(60000); System.out.println((System.nanoTime() - a) / 1e9); } }\n").unwrap();
    let (folder_name, source) = (folder.to_str().unwrap(), source.to_str().unwrap());
    if installed("javac", &["-d", folder_name, source]) {
        let mut options = Options::default();
        options.soft_threads = [
            "VM Periodic Task",
            "G1 Service",
            "Monitor Deflation Thread",
            "VM Thread",
            "C1 CompilerThread",
            "C2 CompilerThread",
            "G1 Main Marker",
            "Sweeper thread",
        ]
        .map(str::to_owned)
        .to_vec();
        sleeps(
            run_with(options, &["java", "-cp", folder_name, "Main"]),
            60.0,
            2.0,
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn curl_gives_up_on_a_silent_server_after_its_ten_seconds() {
    if !can_trace() {
        return;
    }
    if !installed("curl", &["--version"]) {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let ran = run(&["curl", "-s", "-m", "10", "-w", "%{time_total}", &url]);
    assert_eq!(ran.output.status.code(), Some(28), "{ran:#?}");
    assert_eq!(ran.record.doubts, [], "{ran:#?}");
    let total: f64 = ran.stdout().parse().unwrap();
    assert!((9.99..10.1).contains(&total), "{ran:#?}");
    within(ran.virtual_time, 10.0, 20.0);
    within(ran.real, 0.0, 45.0);
}

#[test]
fn several_tracers_work_at_once_each_with_its_own_time() {
    if !can_trace() {
        return;
    }
    let threads: Vec<_> = (1..=4)
        .map(|minutes| {
            std::thread::spawn(move || {
                let seconds = (minutes * 60).to_string();
                for _ in 0..3 {
                    let ran = run(&[CLIENT, "sleep", &seconds]).checked();
                    let seconds = f64::from(minutes * 60);
                    within(ran.virtual_time, seconds, seconds + 10.0);
                    within(ran.real, 0.0, 45.0);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn several_programs_share_one_time() {
    if !can_trace() {
        return;
    }
    let time = VirtualTime::begin();
    let tracer = Tracer::start(time.clone(), Options::default(), |_| {}).unwrap();
    // Until all are there: who came first would else be ahead of the others.
    let busy = time.busy();
    let mut launchers: Vec<_> = ["10", "70", "40"]
        .iter()
        .map(|seconds| {
            launcher(&[CLIENT, "sleep", seconds], &tracer)
                .spawn()
                .unwrap()
        })
        .collect();
    tracer.wait_for_entries(3);
    drop(busy);
    for launcher in &mut launchers {
        assert!(launcher.wait().unwrap().success());
    }
    let record = tracer.finish();
    assert_eq!(record.doubts, []);
    within(time.now(), 70.0, 80.0);
}

#[test]
fn without_jumps_time_is_real() {
    if !can_trace() {
        return;
    }
    let mut options = Options::default();
    options.jump = false;
    let ran = run_with(options, &[CLIENT, "sleep", "1"]).checked();
    within(ran.real, 1.0, 45.0);
    assert_eq!((ran.record.jumps, ran.record.jumped_ns), (0, 0));
}

/// Time was moved to a cell's deadline by the daemons of a client that had ended, before
/// its launcher could say so.
#[test]
fn what_a_program_leaves_behind_does_not_move_time() {
    if !can_trace() {
        return;
    }
    let time = VirtualTime::begin();
    let _deadline = time.call_at(Duration::from_secs(90), drop);
    for _ in 0..20 {
        let ran = run_in(&time, Options::default(), &[CLIENT, "leave-a-child"]);
        assert_eq!(ran.record.jumps, 0, "{ran:#?}");
    }
}

/// A Java machine that ends pauses for 10 ms and again until its compiler rests, and
/// time was moved to a timer three seconds away.
#[test]
fn pauses_of_a_soft_thread_hold_time() {
    if !can_trace() {
        return;
    }
    let mut options = Options::default();
    options.soft_threads = vec!["housekeeper".to_owned()];
    let ran = run_with(options, &[CLIENT, "pauses-of-a-housekeeper"]).checked();
    within(ran.virtual_time, 0.3, 45.0);
    assert!(ran.record.jumps >= 10, "{ran:#?}");
}
