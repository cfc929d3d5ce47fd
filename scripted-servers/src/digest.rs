//! Digests of contents, as answers and events carry them.

use sha2::{Digest as _, Sha256};

/// SHA-256 in lower-case hex.
pub fn sha256(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)].into());
        text.push(DIGITS[usize::from(byte & 15)].into());
    }
    text
}
