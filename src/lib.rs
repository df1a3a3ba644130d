//! archi3d: runs large batches of image-to-3D generations and loses nothing.
pub mod adapter;
pub mod cancel;
pub mod clock;
pub mod domain;
pub mod engine;
pub mod platform;
pub mod store;
pub mod workspace;
