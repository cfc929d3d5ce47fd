//! Loads the content that a call is to send.

use std::io;

use crate::protocol::Body;

impl Body {
    /// The bytes to send.
    ///
    /// # Errors
    /// The file cannot be read; the error names it.
    pub fn load(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::File(path) => std::fs::read(path).map_err(|error| {
                io::Error::new(error.kind(), format!("body file {path}: {error}"))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_sent_as_utf8() {
        let body = Body::Text("grüezi".to_owned());
        assert_eq!(body.load().unwrap(), "grüezi".as_bytes());
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Body::File("no/such/file".to_owned()).load().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("no/such/file"), "{error}");
    }
}
