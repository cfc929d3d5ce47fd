//! URLs as far as a plain HTTP client needs them: `http`, host, port, target.

use std::fmt;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// Who answers.
    pub(crate) origin: Origin,
    /// Path and query; begins with a slash.
    pub(crate) target: String,
}

/// Who answers: the scheme is always `http`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin {
    /// Host, IPv6 addresses in brackets.
    pub(crate) host: String,
    /// Port.
    pub(crate) port: u16,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.origin, self.target)
    }
}

impl Url {
    /// Reads an absolute URL; none for what this client cannot request.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        if !scheme.eq_ignore_ascii_case("http") {
            return None;
        }
        let rest = rest.split('#').next()?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        Some(Self {
            origin: Origin::parse(authority)?,
            target: target_of(target)?,
        })
    }

    /// Where a Location leads from here (RFC 3986 section 5.2).
    pub(crate) fn join(&self, location: &str) -> Option<Self> {
        let location = location.split('#').next()?;
        let has_scheme = location
            .split_once(':')
            .is_some_and(|(scheme, _)| !scheme.contains(['/', '?']));
        if has_scheme {
            return Self::parse(location);
        }
        if location.starts_with("//") {
            return Self::parse(&format!("http:{location}"));
        }
        let path = self.target.split('?').next()?;
        let target = match location.chars().next() {
            None => self.target.clone(),
            Some('/') => location.to_owned(),
            Some('?') => format!("{path}{location}"),
            Some(_) => {
                let folder = path
                    .rfind('/')
                    .map_or("/", |at| path.get(..=at).unwrap_or("/"));
                format!("{folder}{location}")
            }
        };
        Some(Self {
            origin: self.origin.clone(),
            target: without_dots(&target_of(&target)?),
        })
    }
}

impl Origin {
    fn parse(authority: &str) -> Option<Self> {
        let (host, port) = match authority.rfind(':') {
            Some(at) if !authority.ends_with(']') => {
                let (host, port) = authority.split_at(at);
                (host, port.get(1..)?)
            }
            _ => (authority, ""),
        };
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = if port.is_empty() {
            80
        } else {
            port.parse().ok().filter(|_| digits)?
        };
        let bracketed = host.starts_with('[') && host.ends_with(']');
        let odd = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '_');
        if host.is_empty() || (!bracketed && host.contains(odd)) {
            return None;
        }
        Some(Self {
            host: host.to_ascii_lowercase(),
            port,
        })
    }
}

/// The target of a request, with what may not stand in one refused.
fn target_of(text: &str) -> Option<String> {
    if text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return None;
    }
    Some(match text {
        "" => "/".to_owned(),
        query if query.starts_with('?') => format!("/{query}"),
        target => target.to_owned(),
    })
}

/// Removes `.` and `..` from the path (RFC 3986 section 5.2.4).
fn without_dots(target: &str) -> String {
    let (path, query) = target
        .find('?')
        .map_or((target, ""), |at| target.split_at(at));
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            other => {
                kept.push(other);
                continue;
            }
        }
        if last {
            kept.push("");
        }
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(location: &str) -> Option<String> {
        let url = Url::parse("http://h:81/a/b?q").unwrap();
        url.join(location).map(|url| url.to_string())
    }

    #[test]
    fn a_url_is_taken_apart() {
        let url = Url::parse("HTTP://Example.test:81/a?b=c#d").unwrap();
        assert_eq!(url.origin.to_string(), "example.test:81");
        assert_eq!(url.target, "/a?b=c");
        assert_eq!(Url::parse("http://h").unwrap().to_string(), "http://h:80/");
        assert_eq!(Url::parse("http://[::1]:8").unwrap().origin.host, "[::1]");
    }

    #[test]
    fn what_cannot_be_requested_is_refused() {
        for text in [
            "https://h/",
            "h/x",
            "http://",
            "http://u:p@h/",
            "http://h:x/",
            "http://h:99999/",
            "http://h/a b",
            "http://h/\r\nX: y",
        ] {
            assert_eq!(Url::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn locations_are_joined_by_the_rules() {
        for (location, wanted) in [
            ("http://o:9/x", "http://o:9/x"),
            ("//o/x", "http://o:80/x"),
            ("/x?y", "http://h:81/x?y"),
            ("x", "http://h:81/a/x"),
            ("../x", "http://h:81/x"),
            ("./", "http://h:81/a/"),
            ("?z", "http://h:81/a/b?z"),
            ("", "http://h:81/a/b?q"),
            ("#frag", "http://h:81/a/b?q"),
            ("/x:y", "http://h:81/x:y"),
        ] {
            assert_eq!(joined(location).as_deref(), Some(wanted), "{location:?}");
        }
        assert_eq!(joined("https://o/"), None);
        assert_eq!(joined("mailto:x"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_location_makes_it_panic(location: String) {
            let url = Url::parse("http://h/a/b").unwrap();
            if let Some(next) = url.join(&location) {
                proptest::prop_assert!(next.target.starts_with('/'));
            }
        }
    }
}
