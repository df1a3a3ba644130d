//! Tables as files.
