use proptest::prelude::*;

use super::*;

/// Feeds a request in pieces of this size: the request, the bytes it took.
fn fed(bytes: &[u8], size: usize) -> Result<(Request, usize), Malformed> {
    let mut request = Request::default();
    request.keep_content();
    let mut total = 0;
    for piece in bytes.chunks(size) {
        let mut at = 0;
        while at < piece.len() && !request.is_complete() {
            let (used, _) = request.feed(&piece[at..])?;
            at += used;
        }
        total += at;
    }
    Ok((request, total))
}

fn whole(text: &str) -> Request {
    fed(text.as_bytes(), usize::MAX).unwrap().0
}

fn refused(text: &str) -> String {
    match fed(text.as_bytes(), usize::MAX) {
        Err(Malformed(reason)) => reason,
        Ok(_) => panic!("understood: {text:?}"),
    }
}

#[test]
fn a_head_without_content_is_a_complete_request() {
    let request = whole("GET /a?b HTTP/1.1\r\nHost: x\r\nX-Latin: \u{e9}\r\n\r\nGET");
    assert!(request.is_complete());
    let head = request.head().unwrap();
    assert_eq!(
        (head.method.as_str(), head.target.as_str()),
        ("GET", "/a?b")
    );
    assert_eq!(head.headers[1].0, "X-Latin");
    assert_eq!(head.headers[1].1, "\u{c3}\u{a9}", "octets, one by one");
    assert_eq!(request.content_bytes(), 0);
}

#[test]
fn content_by_length_is_counted_and_hashed() {
    let (mut request, used) =
        fed(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /", 1).unwrap();
    assert_eq!(
        used,
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc".len()
    );
    assert_eq!(request.content_bytes(), 3);
    assert_eq!(
        request.take_digest().unwrap(),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn chunks_extensions_and_trailers_are_understood() {
    let text = "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n\
                1;x=\"y\"\r\na\r\n2\r\nbc\r\n0\r\nX-Sum: 1\r\n\r\n";
    let (mut request, used) = fed(format!("{text}rest").as_bytes(), 3).unwrap();
    assert!(request.is_complete());
    assert_eq!(used, text.len());
    assert_eq!(
        request.take_digest().unwrap(),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn an_empty_chunked_content_has_no_digest() {
    let mut request = whole("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert!(request.is_complete());
    assert_eq!(request.take_digest(), None);
}

#[test]
fn what_can_not_be_a_request_is_refused_as_soon_as_that_is_known() {
    assert!(refused("\u{16}\u{3}\u{1}").contains("token"));
    assert!(refused("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n").contains("Content-Length"));
    assert!(refused("GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n").contains("Content-Length"));
    assert!(
        refused("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n")
            .contains("differ")
    );
    assert!(refused("GET / HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n\r\n").contains("gzip"));
    let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert!(refused(&format!("{chunked}-1\r\n")).contains("hexadecimal"));
    assert!(refused(&format!("{chunked}1\r\nab\r\n")).contains("longer"));
    let long = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(300 * 1024));
    assert!(refused(&long).contains("longer"));
}

#[test]
fn a_head_with_more_fields_than_usual_is_understood() {
    let fields: String = (0..500).map(|n| format!("X-{n}: {n}\r\n")).collect();
    let request = whole(&format!("GET / HTTP/1.1\r\n{fields}\r\n"));
    assert_eq!(request.head().unwrap().headers.len(), 500);
}

#[test]
fn points_are_reached_at_their_byte_and_not_before() {
    let text = b"POST / HTTP/1.1\r\nContent-Length: 8\r\n\r\n12345678";
    let head = text.len() as u64 - 8;
    let cases = [
        (RequestPoint::Head(Position::Bytes(1)), 1),
        (RequestPoint::Head(Position::Bytes(999)), head),
        (RequestPoint::Head(Position::Half), head),
        (RequestPoint::Head(Position::All), head),
        (RequestPoint::Body(Position::Bytes(0)), head),
        (RequestPoint::Body(Position::Bytes(3)), head + 3),
        (RequestPoint::Body(Position::Half), head + 4),
        (RequestPoint::Body(Position::Last), head + 7),
        (RequestPoint::Body(Position::All), head + 8),
        (RequestPoint::Body(Position::Bytes(999)), head + 8),
        (RequestPoint::Request, head + 8),
    ];
    for (point, expected) in cases {
        let mut request = Request::default();
        let mut reached = None;
        for (at, byte) in text.iter().enumerate() {
            request.feed(&[*byte]).unwrap();
            if reached.is_none() && request.reached(point) {
                reached = Some(at as u64 + 1);
            }
        }
        assert_eq!(reached, Some(expected), "{point:?}");
    }
}

#[test]
fn content_is_kept_only_when_asked_for_and_only_up_to_the_cap() {
    let head = "POST / HTTP/1.1\r\nContent-Length: 2097152\r\n\r\n";
    let mut request = Request::default();
    request.feed(head.as_bytes()).unwrap();
    request.keep_content();
    for _ in 0..32 {
        request.feed(&[b'1'; 65536]).unwrap();
    }
    assert!(request.is_complete());
    assert_eq!(request.content_bytes(), 2 * 1024 * 1024);
    assert_eq!(request.kept.as_ref().unwrap().len(), KEPT_CONTENT);
    assert_eq!(request.json(), None, "only a part of it was kept");
    assert_eq!(
        whole("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n42").json(),
        Some(42.into())
    );
}

#[test]
fn only_the_rest_of_a_small_request_is_waited_for() {
    let mut large = Request::default();
    large
        .feed(b"PUT / HTTP/1.1\r\nContent-Length: 8388608\r\n\r\n")
        .unwrap();
    assert!(!large.rest_is_due());
    let mut expecting = Request::default();
    expecting
        .feed(b"PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 8\r\n\r\n")
        .unwrap();
    assert!(!expecting.rest_is_due());
    let mut small = Request::default();
    small
        .feed(b"PUT / HTTP/1.1\r\nContent-Length: 8\r\n\r\n")
        .unwrap();
    assert!(small.rest_is_due());
    small.feed(b"12345678").unwrap();
    assert!(!small.rest_is_due());
}

#[test]
fn a_connection_ends_when_the_client_says_so_or_speaks_the_old_version() {
    let ends = |text| whole(text).head().unwrap().ends_connection();
    assert!(!ends("GET / HTTP/1.1\r\n\r\n"));
    assert!(ends("GET / HTTP/1.1\r\nConnection: te, Close\r\n\r\n"));
    assert!(ends("GET / HTTP/1.0\r\n\r\n"));
    assert!(!ends("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

proptest! {
    #[test]
    fn a_request_reads_the_same_in_any_pieces(
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..6),
        chunked in any::<bool>(),
        size in 1_usize..50,
    ) {
        let content = chunks.concat();
        let mut bytes = Vec::new();
        if chunked {
            bytes.extend_from_slice(b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
            for chunk in &chunks {
                bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                bytes.extend_from_slice(chunk);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
        } else {
            bytes.extend_from_slice(format!("POST /x HTTP/1.1\nContent-Length: {}\n\n", content.len()).as_bytes());
            bytes.extend_from_slice(&content);
        }
        let length = bytes.len();
        bytes.extend_from_slice(b"GET");
        let (request, used) = fed(&bytes, size).unwrap();
        prop_assert!(request.is_complete());
        prop_assert_eq!(used, length);
        prop_assert_eq!(request.kept.unwrap(), content);
    }

    #[test]
    fn no_bytes_at_all_make_the_reader_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        size in 1_usize..50,
    ) {
        let (request, used) = match fed(&bytes, size) {
            Ok(fed) => fed,
            Err(Malformed(reason)) => {
                prop_assert!(!reason.is_empty());
                return Ok(());
            }
        };
        prop_assert!(used <= bytes.len());
        prop_assert!(request.is_complete() || used == bytes.len());
    }
}
