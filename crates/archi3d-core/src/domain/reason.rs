//! Why a job is where it is: a code that stays the same, for people and for scripts.

use serde::{Serialize, Serializer};

macro_rules! codes {
    ($($name:ident $word:literal $meaning:literal,)*) => {
        /// Why a job is where it is, or would be. The words never change their meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ReasonCode {
            $(#[doc = $meaning] $name,)*
        }

        impl ReasonCode {
            /// Returns the word for it.
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

codes! {
    AfterCanary "after_canary"
        "The first jobs of its algorithm are on trial.",
    AskFirst "ask_first"
        "A cut-off attempt may have been billed: a person is asked first.",
    BadInput "bad_input"
        "Its pictures cannot be used.",
    Bought "bought"
        "An earlier attempt bought it.",
    CancelAsked "cancel_asked"
        "A cancel was requested and has not happened yet.",
    Cancelled "cancelled"
        "It was cancelled.",
    Completed "completed"
        "It has its result.",
    Failed "failed"
        "It failed, in a way of which no more is on record.",
    FailedBefore "failed_before"
        "It failed and was selected.",
    FinishedUnpublished "finished_unpublished"
        "A worker finished it and died before publishing.",
    Held "held"
        "A worker holds it.",
    Identical "identical"
        "An identical result exists.",
    LeftBehind "left_behind"
        "Its worker died.",
    MadeAgain "made_again"
        "Its result is to be made again.",
    NeedsRedo "needs_redo"
        "Only a redo makes it again.",
    NotInManifest "not_in_manifest"
        "The registry has it, the manifest does not name it.",
    NotRegistered "not_registered"
        "The manifest names it, the registry does not.",
    NotSelected "not_selected"
        "Its state was not selected.",
    OutOfCredit "out_of_credit"
        "Its account was empty.",
    OverBudget "over_budget"
        "A spending limit refuses it.",
    OverLimit "over_limit"
        "It is beyond `--limit`.",
    Paused "paused"
        "Its algorithm is paused.",
    PausedBefore "paused_before"
        "Its algorithm was paused and may be tried again.",
    Permanent "permanent"
        "Without a change it fails the same way.",
    PossiblyBilled "possibly_billed"
        "It may have been billed.",
    PossiblyBought "possibly_bought"
        "It was about to be bought when its worker died.",
    ProviderClosed "provider_closed"
        "Its provider is closed.",
    RealAttempt "real_attempt"
        "It was tried for real, and this is a rehearsal.",
    RealResult "real_result"
        "It has a real result, and this is a rehearsal.",
    Rehearsed "rehearsed"
        "It was rehearsed.",
    RehearsedOnly "rehearsed_only"
        "It was only rehearsed; a real run performs it.",
    Resumable "resumable"
        "Its worker died; it can be resumed.",
    RetriesUsedUp "retries_used_up"
        "Its failure may pass, and its retries are used up.",
    Running "running"
        "A worker works on it.",
    Slow "slow"
        "It takes more than twice its usual time.",
    Stalled "stalled"
        "Its worker has not beaten for a while.",
    Twin "twin"
        "It is identical to an earlier job of the run.",
    UnknownPrice "unknown_price"
        "Nothing says what it costs, and a spending limit is set.",
    UnknownStatus "unknown_status"
        "Its status cell holds an unknown word.",
    UnusableAlgo "unusable_algo"
        "Nothing here can make it.",
    UnusablePicture "unusable_picture"
        "One of its pictures cannot be used.",
    Waiting "waiting"
        "It waits.",
    WaitsForProvider "waits_for_provider"
        "It waits until its provider opens.",
    WaitsToRetry "waits_to_retry"
        "It waits for its next attempt.",
}

impl Serialize for ReasonCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}
