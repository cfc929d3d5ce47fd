//! Header fields whose values are never told.

/// Names of fields that carry credentials, in lower case.
pub const FIELDS: [&str; 7] = [
    "proxy-authorization",
    "authorization",
    "set-cookie",
    "cookie",
    "x-api-key",
    "api-key",
    "x-auth-token",
];

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Whether the value of a field is a secret.
pub fn is_secret(field: &str) -> bool {
    FIELDS.iter().any(|name| name.eq_ignore_ascii_case(field))
}
