//! The page itself, built from `web/` and part of the program.

/// A file of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asset {
    Index,
    App,
    Style,
    Viewer,
    Draco,
    Licences,
}

impl Asset {
    /// Everything but the page itself, which names the others.
    pub(super) const ALL: [Self; 5] = [
        Self::App,
        Self::Style,
        Self::Viewer,
        Self::Draco,
        Self::Licences,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Index => "index.html",
            Self::App => "app.js",
            Self::Style => "app.css",
            Self::Viewer => "viewer.js",
            Self::Draco => "draco.js",
            Self::Licences => "LICENSES.txt",
        }
    }
}

/// Returns a file of the page.
pub(super) fn text(asset: Asset) -> &'static str {
    match asset {
        Asset::Index => include_str!("../../../../../assets/web/index.html"),
        Asset::App => include_str!("../../../../../assets/web/app.js"),
        Asset::Style => include_str!("../../../../../assets/web/app.css"),
        Asset::Viewer => include_str!("../../../../../assets/web/viewer.js"),
        Asset::Draco => include_str!("../../../../../assets/web/draco.js"),
        Asset::Licences => include_str!("../../../../../assets/web/LICENSES.txt"),
    }
}
