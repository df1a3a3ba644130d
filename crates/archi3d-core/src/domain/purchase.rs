//! A job's purchase, from the intent to buy to its end.
//!
//! An adapter says *intent* before it asks a provider for something that costs
//! money, and *submitted* once it knows the provider's id. Between the two nobody
//! can say whether something was bought: an intent without an id is doubt.

use serde::{Deserialize, Serialize};

use crate::domain::time::Timestamp;

/// An intent to buy of which nobody knows what came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenIntent {
    /// What the purchase can be found by at the provider.
    pub correlation: String,
    /// When it was said.
    pub at: Timestamp,
}

/// What a job has bought, or meant to buy, and not brought to a result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenPurchase {
    /// The provider's id of what was bought.
    pub request_id: Option<String>,
    /// An intent after which no id came.
    pub intent: Option<OpenIntent>,
    /// How many purchases of the job are over, with a result or void; part of its
    /// idempotency key.
    pub ended: u32,
}

impl OpenPurchase {
    /// Notes an intent.
    pub fn intend(&mut self, intent: OpenIntent) {
        self.intent = Some(intent);
    }

    /// Notes the id of what was bought.
    pub fn submit(&mut self, request_id: &str) {
        self.request_id = Some(request_id.to_owned());
        self.intent = None;
    }

    /// Draws the conclusion of an attempt that brought no result.
    pub fn end(&mut self, end: PurchaseEnd) {
        match end {
            PurchaseEnd::Open => {}
            PurchaseEnd::NotMade => self.intent = None,
            PurchaseEnd::Void => self.complete(),
        }
    }

    /// Ends it: what comes next is bought anew, under another key.
    pub fn complete(&mut self) {
        self.request_id = None;
        self.intent = None;
        self.ended = self.ended.saturating_add(1);
    }
}

/// What an attempt without a result means for the job's purchase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PurchaseEnd {
    /// It stays as it is: the next attempt, or a person, asks about it.
    #[default]
    Open,
    /// What was meant to be bought was not.
    NotMade,
    /// It is over: the next attempt buys anew.
    Void,
}

impl PurchaseEnd {
    /// Tells whether nothing changes.
    pub fn is_open(&self) -> bool {
        *self == Self::Open
    }
}

/// What an adapter says of its request when it fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RequestFate {
    /// It can be asked about again, if there is one.
    #[default]
    Kept,
    /// It is over and brings nothing any more.
    Void,
}

/// What an adapter says of the bill when it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billed {
    /// It was billed.
    Yes,
    /// It was not.
    No,
    /// Nobody knows.
    Maybe,
}

impl Billed {
    /// Reads the word of the adapter protocol.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "yes" => Some(Self::Yes),
            "no" => Some(Self::No),
            "maybe" => Some(Self::Maybe),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent() -> OpenIntent {
        OpenIntent {
            correlation: "c-1".into(),
            at: Timestamp::parse("2026-01-01T00:00:00Z").unwrap(),
        }
    }

    #[test]
    fn an_intent_is_open_until_an_id_or_an_ending_explains_it() {
        let mut purchase = OpenPurchase::default();
        purchase.intend(intent());
        purchase.end(PurchaseEnd::Open);
        assert_eq!(purchase.intent, Some(intent()));
        purchase.end(PurchaseEnd::NotMade);
        assert_eq!(purchase, OpenPurchase::default());
        purchase.intend(intent());
        purchase.submit("r-1");
        assert_eq!(purchase.intent, None);
        purchase.end(PurchaseEnd::NotMade);
        assert_eq!(purchase.request_id.as_deref(), Some("r-1"));
    }

    #[test]
    fn a_void_purchase_is_followed_by_another_one() {
        let mut purchase = OpenPurchase::default();
        purchase.submit("r-1");
        purchase.end(PurchaseEnd::Void);
        assert_eq!((purchase.request_id, purchase.ended), (None, 1));
    }
}
