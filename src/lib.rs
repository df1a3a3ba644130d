//! The command line of archi3d: runs large batches of image-to-3D generations and loses nothing.
//! What the commands do is in `archi3d_core`.

pub mod cli;
