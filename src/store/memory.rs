//! Strict in-memory store.
