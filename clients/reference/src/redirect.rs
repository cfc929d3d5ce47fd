//! The next hop after a redirect (RFC 9110 section 15.4). Pure: it sends nothing.

use crate::codec::Fields;
use crate::defects::{Defect, Defects};
use crate::request::Request;

/// Fields that prove who the caller is. They belong to the origin that the
/// caller named and go to no other.
const SECRETS: [&str; 7] = [
    "Authorization",
    "Cookie",
    "Proxy-Authorization",
    "X-Api-Key",
    "Api-Key",
    "X-Auth-Token",
    "X-Csrf-Token",
];

/// The request that a redirect asks for; none: this answer is no redirect, or
/// one that cannot be followed, and is shown as it is.
pub(crate) fn next(
    request: &Request,
    status: u16,
    fields: &Fields,
    defects: &Defects,
) -> Option<Request> {
    let becomes_get = match status {
        301 | 302 => request.method == "POST",
        303 => request.method != "HEAD" && !defects.has(Defect::KeepsPostOn303),
        307 | 308 => request.method != "HEAD" && defects.has(Defect::RewritesPostToGetOn307),
        _ => return None,
    };
    let mut url = request.url.join(fields.get("Location")?)?;
    if defects.has(Defect::StaysAtTheFirstOrigin) {
        url.origin = request.url.origin.clone();
    }
    let mut next = if matches!(status, 307 | 308) && defects.has(Defect::DropsBodyOn307) {
        request.without_content()
    } else if becomes_get {
        Request {
            method: "GET".to_owned(),
            ..request.without_content()
        }
    } else {
        request.clone()
    };
    let other = url.origin != request.url.origin;
    if other && !defects.has(Defect::KeepsSecretsAcrossOrigins) {
        next.fields.retain(|(name, _)| !is_secret(name));
    }
    if other {
        // A Host that the caller wrote was meant for the first origin.
        next.fields
            .retain(|(name, _)| !name.eq_ignore_ascii_case("Host"));
    }
    next.url = url;
    Some(next)
}

fn is_secret(name: &str) -> bool {
    SECRETS
        .iter()
        .any(|secret| secret.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Url;

    fn request(method: &str) -> Request {
        let fields = ["Authorization", "cookie", "Content-Type", "X-Other"];
        Request {
            method: method.to_owned(),
            url: Url::parse("http://a:1/in").unwrap(),
            fields: fields
                .map(|name| (name.to_owned(), "v".to_owned()))
                .to_vec(),
            content: Some(b"content"[..].into()),
            streamed: false,
        }
    }

    fn follow(
        method: &str,
        status: u16,
        location: &str,
        defect: Option<Defect>,
    ) -> Option<Request> {
        let mut fields = Fields::default();
        fields
            .take(format!("Location: {location}").as_bytes())
            .unwrap();
        let defects = defect.map_or_else(Defects::default, |on| Defects::default().with(on));
        next(&request(method), status, &fields, &defects)
    }

    fn names(request: &Request) -> Vec<&str> {
        request
            .fields
            .iter()
            .map(|(name, _)| name.as_str())
            .collect()
    }

    #[test]
    fn methods_change_by_the_rules() {
        for (method, status, becomes, keeps) in [
            ("POST", 301, "GET", false),
            ("POST", 302, "GET", false),
            ("PUT", 302, "PUT", true),
            ("PUT", 303, "GET", false),
            ("HEAD", 303, "HEAD", true),
            ("POST", 307, "POST", true),
            ("POST", 308, "POST", true),
        ] {
            let next = follow(method, status, "/x", None).unwrap();
            assert_eq!(next.method, becomes, "{method} {status}");
            assert_eq!(next.content.is_some(), keeps, "{method} {status}");
            let typed = names(&next).contains(&"Content-Type");
            assert_eq!(typed, keeps, "{method} {status}");
        }
    }

    #[test]
    fn other_statuses_and_useless_locations_are_shown_as_they_are() {
        assert!(follow("GET", 304, "/x", None).is_none());
        assert!(follow("GET", 300, "/x", None).is_none());
        assert!(follow("GET", 302, "https://a/", None).is_none());
        let bare = next(
            &request("GET"),
            302,
            &Fields::default(),
            &Defects::default(),
        );
        assert!(bare.is_none());
    }

    #[test]
    fn secrets_stay_with_their_origin() {
        let same = follow("GET", 302, "/x", None).unwrap();
        assert!(names(&same).contains(&"Authorization"));
        for other in ["http://b:1/x", "http://a:2/x"] {
            let next = follow("GET", 302, other, None).unwrap();
            assert_eq!(names(&next), ["Content-Type", "X-Other"], "{other}");
        }
    }

    #[test]
    fn each_defect_changes_its_rule() {
        let keeps = follow(
            "GET",
            302,
            "http://b:1/",
            Some(Defect::KeepsSecretsAcrossOrigins),
        );
        assert!(names(&keeps.unwrap()).contains(&"cookie"));
        let kept = follow("POST", 303, "/x", Some(Defect::KeepsPostOn303)).unwrap();
        assert_eq!(
            (kept.method.as_str(), kept.content.is_some()),
            ("POST", true)
        );
        let rewritten = follow("POST", 307, "/x", Some(Defect::RewritesPostToGetOn307)).unwrap();
        assert_eq!(
            (rewritten.method.as_str(), rewritten.content.is_some()),
            ("GET", false)
        );
    }
}
