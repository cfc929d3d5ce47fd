//! Describes an error with everything below it, outermost first.
//!
//! Type, code and number are what a table of errors is matched on, so they are
//! taken as they are and never guessed from a message.

use std::error::Error;
use std::io;

use crate::errno;
use crate::protocol::ErrorLink;

/// Links after which a chain is cut: an error that is its own source must not
/// keep a client from reporting.
const LONGEST: usize = 16;

/// The chain of an error and its sources. The type of a link is the word its
/// `Debug` output begins with; links that are [`io::Error`] bring number and
/// code. `code` may name the code of links that it knows.
pub fn chain(
    error: &(dyn Error + 'static),
    code: impl Fn(&(dyn Error + 'static)) -> Option<String>,
) -> Vec<ErrorLink> {
    let mut at = "error".to_owned();
    let mut links = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next.filter(|_| links.len() < LONGEST) {
        let mut link = describe(error);
        if let Some(code) = code(error) {
            link.code = Some(code);
        }
        link.at = Some(at.clone());
        at.push_str(".source");
        links.push(link);
        next = error.source();
    }
    links
}

/// One link for an error of the operating system or of std's IO.
pub fn io_link(error: &io::Error) -> ErrorLink {
    let errno = error.raw_os_error();
    let code = errno
        .and_then(errno::name)
        .map_or_else(|| format!("{:?}", error.kind()), str::to_owned);
    ErrorLink {
        kind: Some("std::io::Error".to_owned()),
        code: Some(code),
        errno: errno.map(i64::from),
        message: Some(error.to_string()),
        at: None,
    }
}

fn describe(error: &(dyn Error + 'static)) -> ErrorLink {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return io_link(error);
    }
    let debug = format!("{error:?}");
    let end = debug
        .find(|c: char| !c.is_ascii_alphanumeric() && c != ':' && c != '_')
        .unwrap_or(debug.len());
    let kind = debug.get(..end).filter(|kind| !kind.is_empty());
    ErrorLink {
        kind: kind.map(str::to_owned),
        message: Some(error.to_string()),
        ..ErrorLink::default()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Outer(io::Error);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the call failed")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn a_chain_tells_types_codes_numbers_and_places() {
        let links = chain(&Outer(io::Error::from_raw_os_error(104)), |_| None);
        assert_eq!(links.len(), 2);
        assert_eq!(links[0].kind.as_deref(), Some("Outer"));
        assert_eq!(links[0].code, None);
        assert_eq!(links[0].message.as_deref(), Some("the call failed"));
        assert_eq!(links[0].at.as_deref(), Some("error"));
        assert_eq!(links[1].code.as_deref(), Some("ECONNRESET"));
        assert_eq!(links[1].errno, Some(104));
        assert_eq!(links[1].at.as_deref(), Some("error.source"));
    }

    #[test]
    fn an_io_error_without_a_number_is_known_by_its_kind() {
        let link = io_link(&io::Error::from(io::ErrorKind::UnexpectedEof));
        assert_eq!(link.code.as_deref(), Some("UnexpectedEof"));
        assert_eq!(link.errno, None);
    }

    #[test]
    fn the_caller_can_name_a_code() {
        let links = chain(&Outer(io::Error::from_raw_os_error(1)), |error| {
            error.downcast_ref::<Outer>().map(|_| "OUTER".to_owned())
        });
        assert_eq!(links[0].code.as_deref(), Some("OUTER"));
        assert_eq!(links[1].code.as_deref(), Some("EPERM"));
    }

    #[derive(Debug)]
    struct Snake;

    impl fmt::Display for Snake {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("bites its tail")
        }
    }

    impl Error for Snake {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&Snake)
        }
    }

    #[test]
    fn an_error_that_is_its_own_source_ends() {
        assert_eq!(chain(&Snake, |_| None).len(), LONGEST);
    }
}
