//! A picture as the one field of a form.

use super::provider::Picture;

/// A form that is ready to be sent.
pub(super) struct Form {
    /// Its content type.
    pub(super) kind: String,
    pub(super) bytes: Vec<u8>,
}

impl Form {
    /// Puts a picture into the field called `field`.
    pub(super) fn new(field: &str, picture: &Picture) -> Self {
        let boundary = format!("archi3d-{}", uuid::Uuid::new_v4().simple());
        let mut bytes = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{field}\"; \
             filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
            picture.name, picture.kind
        )
        .into_bytes();
        bytes.extend_from_slice(&picture.bytes);
        bytes.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        Self {
            kind: format!("multipart/form-data; boundary={boundary}"),
            bytes,
        }
    }
}
