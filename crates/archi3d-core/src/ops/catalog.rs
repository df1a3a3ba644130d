//! `catalog build`: the dataset and the products file → the item table and its issues.
//!
//! Everything is read and judged before the first byte is written, and both
//! tables are replaced together under a lock, so an error leaves the old ones as
//! they were and a death no temporary file for ever.
//! The dataset itself is only ever read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::issue::{Issue, IssueKind, Trouble, issues_of, lookalikes};
use crate::domain::item::{ImageOrder, Item, split_folder_name};
use crate::domain::products::{Enrichment, Products, ProductsError, read_products};
use crate::domain::text::counted;
use crate::domain::time::{Clock, Timestamp};
use crate::platform::fault;
use crate::store::bounds::refuse_links_outside;
use crate::store::error::{IoContext, StoreError};
use crate::store::table_file;
use crate::workspace::durable;
use crate::workspace::lock::FileLock;
use crate::workspace::paths::Workspace;
use crate::workspace::scan::{Scan, ScanError, scan};

mod order;
mod report;
mod rows;

pub use crate::store::table_file::RiskyCell;
pub use report::CatalogReport;

/// The name of the products file where none is given.
const PRODUCTS_JSON: &str = "products-with-3d.json";

/// The lock that writers of the two tables take, beside them.
const LOCK: &str = "items.lock";

/// Writing takes well under a second, so who waits this long waits for nothing.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);

/// How much of the products file is read at a time.
const READ_AHEAD: usize = 1 << 18;

/// What is to be built.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogRequest {
    /// The dataset, if it is not `dataset/` of the workspace.
    pub dataset: Option<PathBuf>,
    /// The products file, if it is not the usual one.
    pub products_json: Option<PathBuf>,
    /// The order of images; without it tags rule, except where existing tables
    /// hold an order that only names explain.
    pub image_order: Option<ImageOrder>,
}

/// Why there is no new catalog.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The dataset cannot be used.
    #[error(transparent)]
    Dataset(#[from] ScanError),
    /// There is no such products file.
    #[error("there is no products file {}", .0.display())]
    NoProducts(PathBuf),
    /// The products file cannot be used.
    #[error("cannot use the products file {}", path.display())]
    Products {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: ProductsError,
    },
    /// A table cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Somebody else writes the tables and does not come to an end.
    #[error("another program holds {}", .0.display())]
    Busy(PathBuf),
}

impl CatalogError {
    /// Tells whether the request or the set-up is wrong, rather than the disk.
    pub fn is_setup(&self) -> bool {
        match self {
            Self::Dataset(_) | Self::NoProducts(_) | Self::Products { .. } => true,
            Self::Store(error) => error.is_setup(),
            Self::Busy(_) => false,
        }
    }

    /// Returns what to do next.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Dataset(error) => Some(error.hint()),
            Self::NoProducts(_) => Some("check the path given with --products-json"),
            Self::Products { .. } => Some("correct the file, or move it away to build without it"),
            Self::Store(error) => error.hint(),
            Self::Busy(_) => Some("nothing was changed; try again later"),
        }
    }
}

/// Builds the item table and the table of issues anew.
pub fn build(
    workspace: &Workspace,
    clock: &dyn Clock,
    request: &CatalogRequest,
) -> Result<CatalogReport, CatalogError> {
    let build_time = clock.now();
    let dataset = request
        .dataset
        .as_ref()
        .map_or_else(|| workspace.dataset(), |given| resolve(workspace, given));
    let found = scan(workspace, &dataset)?;
    let products_json = find_products(workspace, request)?;
    let products = match &products_json {
        Some(path) => Some(load_products(path, &found)?),
        None => None,
    };
    let mut report = CatalogReport {
        products_json: products_json.as_deref().map(|path| stored(workspace, path)),
        ..CatalogReport::new(build_time, &found.dataset)
    };
    if products_json.is_none() {
        report.warnings.push(format!(
            "there is no {PRODUCTS_JSON} in the workspace or beside it: names, descriptions and categories stay empty"
        ));
    }
    if let (Some(path), Some(products)) = (&report.products_json, &products) {
        let warnings = doubts(path, products, found.folders.len());
        report.warnings.extend(warnings);
    }
    let products = products.map(|products| products.found);
    let chosen = order::choose(workspace, &found, request.image_order)?;
    report.take_order(&chosen);
    let catalog = Catalog::new(&found, &chosen.orders, products.as_ref());
    report.count(&catalog);
    write(workspace, build_time, &catalog)?;
    report.log(workspace);
    Ok(report)
}

/// Everything the two tables will say.
struct Catalog<'a> {
    items: Vec<(Item, Option<&'a Enrichment>)>,
    issues: Vec<Issue>,
    /// Whether no item has a ground truth.
    without_gt: bool,
    has_products: bool,
}

impl<'a> Catalog<'a> {
    fn new(
        found: &Scan,
        orders: &[ImageOrder],
        products: Option<&'a HashMap<String, Enrichment>>,
    ) -> Self {
        let names: Vec<&str> = found.folders.iter().map(|f| f.folder.as_str()).collect();
        let lookalikes = lookalikes(&names);
        let mut items = Vec::with_capacity(names.len());
        let mut issues = Vec::new();
        for ((folder, order), twin) in found.folders.iter().zip(orders).zip(lookalikes) {
            let item = Item::new(folder, *order);
            let known = products.and_then(|products| products.get(&item.product_id));
            let mut troubles = folder.troubles.clone();
            troubles.extend(twin.map(|twin| Trouble {
                kind: IssueKind::TwinName,
                detail: format!("same product and variant as the folder {}", visible(twin)),
            }));
            issues.extend(issues_of(&item, known, &troubles));
            items.push((item, known));
        }
        let without_gt = !items.is_empty() && items.iter().all(|(item, _)| item.gt_candidates == 0);
        if without_gt {
            // Whoever has no ground truth at all does not miss it.
            issues.retain(|issue: &Issue| issue.kind != IssueKind::MissingGt);
        }
        let lost = found.unusable.iter().cloned();
        issues.extend(lost.map(|(name, trouble)| Issue::of_folder(&name, trouble)));
        Self {
            items,
            issues,
            without_gt,
            has_products: products.is_some(),
        }
    }

    fn risky_cells(&self) -> Vec<RiskyCell> {
        let cells = self.items.iter().flat_map(|(item, known)| {
            let product = (item.product_id.as_str(), item.variant.as_str());
            rows::outside_texts(item, *known)
                .into_iter()
                .filter_map(move |(column, text)| RiskyCell::check(product, column, text))
        });
        cells.collect()
    }

    fn issue_counts(&self) -> BTreeMap<IssueKind, usize> {
        let mut counts = BTreeMap::new();
        for issue in &self.issues {
            *counts.entry(issue.kind).or_default() += 1;
        }
        counts
    }
}

/// Shows a name so that two that look the same can be told apart.
fn visible(name: &str) -> String {
    let escape = |c: char| {
        if c.is_ascii_graphic() || c == ' ' {
            c.to_string()
        } else {
            c.escape_unicode().to_string()
        }
    };
    name.chars().map(escape).collect()
}

/// Takes a path as the person means it: from where they are, else from the workspace.
fn resolve(workspace: &Workspace, given: &Path) -> PathBuf {
    let inside = workspace.root().join(given);
    if !given.exists() && inside.exists() {
        inside
    } else {
        given.to_owned()
    }
}

fn find_products(
    workspace: &Workspace,
    request: &CatalogRequest,
) -> Result<Option<PathBuf>, CatalogError> {
    if let Some(given) = &request.products_json {
        let path = resolve(workspace, given);
        return if path.exists() {
            Ok(Some(path))
        } else {
            Err(CatalogError::NoProducts(path))
        };
    }
    let here = Some(workspace.root());
    let usual = [here, workspace.root().parent()];
    let mut usual = usual
        .into_iter()
        .flatten()
        .map(|dir| dir.join(PRODUCTS_JSON));
    let found = usual.find(|path| path.exists());
    // Opening a pipe would wait for a writer; only who names one means it.
    if let Some(path) = found.as_ref().filter(|path| !path.is_file()) {
        let reason = io::Error::other("it is not a plain file; move it away");
        return Err(CatalogError::Products {
            path: path.clone(),
            source: ProductsError::Unreadable(reason),
        });
    }
    Ok(found)
}

fn load_products(path: &Path, found: &Scan) -> Result<Products, CatalogError> {
    let broken = |source| CatalogError::Products {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(|error| broken(ProductsError::Unreadable(error)))?;
    let wanted: HashSet<String> = found
        .folders
        .iter()
        .map(|folder| split_folder_name(&folder.folder).0)
        .collect();
    let input = BufReader::with_capacity(READ_AHEAD, file);
    read_products(input, &|id| wanted.contains(id)).map_err(broken)
}

/// Returns what looks wrong with a products file that can be read.
fn doubts(path: &str, products: &Products, folders: usize) -> Vec<String> {
    let mut doubts = Vec::new();
    if products.found.is_empty() && folders > 0 {
        let entries = match products.entries {
            1 => "1 entry".to_owned(),
            count => format!("{count} entries"),
        };
        doubts.push(format!(
            "{path}: none of its {entries} belongs to a product folder; an entry is an object with \
             `_id`, `ProductId` or `product_id`, or has the id as its key, and the id is what the \
             folder's name begins with"
        ));
    }
    if products.cut_texts > 0 {
        doubts.push(format!(
            "{path}: {} longer than 1 MiB, of which only the beginning was read",
            counted(products.cut_texts, "text")
        ));
    }
    doubts
}

fn stored(workspace: &Workspace, path: &Path) -> String {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let inside = workspace
        .relative(path)
        .or_else(|| workspace.relative(&real));
    inside.unwrap_or_else(|| real.to_string_lossy().into_owned())
}

fn write(
    workspace: &Workspace,
    build_time: Timestamp,
    catalog: &Catalog<'_>,
) -> Result<(), CatalogError> {
    let (items, issues) = (workspace.items(), workspace.items_issues());
    refuse_links_outside(workspace, None)?;
    let tables = workspace.tables();
    fs::create_dir_all(&tables).context("create", &tables)?;
    workspace.make_reports();
    let lock = tables.join(LOCK);
    let held = FileLock::acquire_within(&lock, LOCK_PATIENCE).context("lock", &lock)?;
    let held = held.ok_or(CatalogError::Busy(lock))?;
    let old = |path: &Path| table_file::read_bytes(path);
    let items_table = rows::items_table(catalog, build_time, old(&items)?.as_deref());
    let issues_table = rows::issues_table(catalog, old(&issues)?.as_deref());
    for path in [&issues, &items] {
        durable::sweep_temporaries(path, &held).context("look through the folder of", path)?;
    }
    fault::here("catalog.before");
    let tag = format!("{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
    // The items last: whoever sees new items can trust that their issues are there.
    let files: [(&Path, &[u8]); 2] = [
        (&issues, issues_table.bytes()),
        (&items, items_table.bytes()),
    ];
    durable::replace_together(&files, &tag).context("replace", &items)?;
    fault::here("catalog.written");
    Ok(())
}
