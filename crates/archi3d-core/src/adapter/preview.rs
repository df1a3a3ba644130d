//! Pictures of a model whose maker sends none: front, three-quarter and side.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::adapter::sample;
use crate::domain::naming;
use crate::model::{self, Fit};

/// Larger models get no pictures: a result does not wait for them.
const MAX_MODEL_BYTES: u64 = 512 << 20;

/// Draws a model into `out_dir`. A result is a result without pictures, so whatever goes
/// wrong is a reason and nothing more.
pub(super) fn draw(model: &Path, out_dir: &Path) -> Result<Vec<PathBuf>, String> {
    let size = std::fs::metadata(model).map_err(|error| error.to_string())?;
    if size.len() > MAX_MODEL_BYTES {
        return Err("it is too large to be drawn".to_owned());
    }
    let bytes = std::fs::read(model).map_err(|error| error.to_string())?;
    let drawn = catch_unwind(AssertUnwindSafe(|| -> Result<Vec<Vec<u8>>, String> {
        let shown = model::read(&bytes).map_err(|error| error.to_string())?;
        let views = model::PREVIEW_VIEWS.iter();
        views
            .map(|view| {
                let picture = model::draw(&shown, *view, model::PREVIEW_SIDE, Fit::View);
                model::encode_png(&picture).map_err(|error| error.to_string())
            })
            .collect()
    }));
    let drawn = drawn.unwrap_or_else(|_| Err("drawing it failed".to_owned()))?;
    let numbered = (1..).zip(drawn);
    let put = numbered.map(|(number, picture)| {
        let path = out_dir.join(naming::preview_png(number));
        sample::put(path, &picture).map_err(|error| error.to_string())
    });
    put.collect()
}
