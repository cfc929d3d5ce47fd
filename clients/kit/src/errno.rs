//! Names of the operating system's error numbers, as Linux counts them.
//!
//! Only those that a network client meets; every other number has no name here
//! and is reported as a number alone.

const NAMES: &[(i32, &str)] = &[
    (1, "EPERM"),
    (4, "EINTR"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (22, "EINVAL"),
    (24, "EMFILE"),
    (32, "EPIPE"),
    (71, "EPROTO"),
    (98, "EADDRINUSE"),
    (99, "EADDRNOTAVAIL"),
    (100, "ENETDOWN"),
    (101, "ENETUNREACH"),
    (102, "ENETRESET"),
    (103, "ECONNABORTED"),
    (104, "ECONNRESET"),
    (105, "ENOBUFS"),
    (107, "ENOTCONN"),
    (110, "ETIMEDOUT"),
    (111, "ECONNREFUSED"),
    (112, "EHOSTDOWN"),
    (113, "EHOSTUNREACH"),
];

/// The word for a number: `ECONNRESET` for 104.
pub fn name(errno: i32) -> Option<&'static str> {
    NAMES
        .iter()
        .find(|(number, _)| *number == errno)
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_ones_have_names_and_strangers_have_none() {
        assert_eq!(name(111), Some("ECONNREFUSED"));
        assert_eq!(name(104), Some("ECONNRESET"));
        assert_eq!(name(0), None);
        assert_eq!(name(4096), None);
    }

    #[test]
    fn the_list_is_sorted_and_has_no_number_twice() {
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
