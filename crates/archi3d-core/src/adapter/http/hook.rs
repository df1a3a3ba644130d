//! A message to an address that a person named, signed so that they can tell whose it is.

use std::sync::Arc;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::client::{Call, Client, Content};
use crate::adapter::process::log::AttemptLog;
use crate::domain::text::hex;

/// What a message is signed with, and what it says of itself.
#[derive(Clone, Copy)]
pub struct Signed<'a> {
    /// What both sides know.
    pub secret: &'a str,
    /// Names the event.
    pub id: &'a str,
    /// The moment, in seconds.
    pub at: i64,
}

/// Sends `body` once; an error says why it did not arrive.
pub fn tell(url: &str, signed: &Signed<'_>, body: &[u8], limit: Duration) -> Result<(), String> {
    let signature = format!("t={},v1={}", signed.at, mac(signed.secret, signed.at, body));
    let log = Arc::new(AttemptLog::new(None));
    let client = Client::new(limit, &Arc::default(), log);
    let headers = [
        ("archi3d-event-id", signed.id),
        ("archi3d-signature", signature.as_str()),
    ];
    let call = Call {
        method: "POST",
        url,
        headers: &headers,
        content: Content::Bytes("application/json", body),
    };
    match client.call(call, limit) {
        Ok(answer) if (200..300).contains(&answer.status) => Ok(()),
        Ok(answer) => Err(format!("it answered {}: {}", answer.status, answer.said())),
        Err(trouble) => Err(trouble.text().to_owned()),
    }
}

/// Returns HMAC-SHA256 of the moment, a point, and the body, in hexadecimal.
fn mac(secret: &str, at: i64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length is a key");
    mac.update(format!("{at}.").as_bytes());
    mac.update(body);
    hex(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_what_others_compute() {
        // printf '1700000000.{}' | openssl dgst -sha256 -hmac key
        assert_eq!(mac("key", 1_700_000_000, b"{}"), EXPECTED);
    }

    const EXPECTED: &str = "9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae";
}
