//! Workspaces in temporary folders, made from products that are all alike or copied from a
//! fixture, with readers for what is in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha1::{Digest as _, Sha1};
use tempfile::TempDir;

use super::binary::Invocation;
use super::read::{self, Registry, Row, WorkerLog};
use super::wait::wait_until;

const IMAGES: [&str; 2] = ["p_A.jpg", "p_B.jpg"];

const REGISTRY_COLUMNS: &str = "product_id,variant,manufacturer,product_name,category_l1,\
category_l2,category_l3,description,source_n_images,source_image_1_path,source_image_2_path,\
source_image_3_path,source_image_4_path,source_image_5_path,source_image_6_path,gt_object_path,\
run_id,job_id,algo,algo_version,used_n_images,used_image_1_path,used_image_2_path,\
used_image_3_path,used_image_4_path,used_image_5_path,used_image_6_path,image_set_hash,status,\
created_at,notes";

const MANIFEST_COLUMNS: &str = "job_id,product_id,variant,algo,used_n_images,used_image_1_path,\
used_image_2_path,used_image_3_path,used_image_4_path,used_image_5_path,used_image_6_path,\
image_set_hash,gt_object_path,product_name,manufacturer";

/// Returns the hash that stands for a set of images, in order.
pub fn image_set_hash(images: &[String]) -> String {
    read::hex(&Sha1::digest(images.join("\n").as_bytes()))
}

/// Returns the id that existing workspaces give to a job.
pub fn job_id(product: &str, variant: &str, algo: &str, image_set_hash: &str) -> String {
    let text = format!("{product}|{variant}|{algo}|{image_set_hash}");
    read::hex(&Sha1::digest(text.as_bytes()))[..12].to_owned()
}

/// One job of a workspace as it was made.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its id.
    pub id: String,
    /// Its product.
    pub product: String,
    /// Its images, relative to the workspace.
    pub images: Vec<String>,
}

/// What a workspace is made from; all products look alike.
#[derive(Debug)]
pub struct WorkspaceBuilder {
    products: usize,
    first_product: usize,
    run: String,
    algo: String,
    variant: String,
    status: String,
    line_end: &'static str,
    ids: Vec<String>,
    adapters: Option<String>,
}

impl WorkspaceBuilder {
    /// Sets the run's id; `rk` unless told.
    pub fn run(mut self, run: &str) -> Self {
        run.clone_into(&mut self.run);
        self
    }

    /// Sets the algorithm of all jobs; `trellis_single` unless told.
    pub fn algo(mut self, algo: &str) -> Self {
        algo.clone_into(&mut self.algo);
        self
    }

    /// Sets the variant of all products; `default` unless told.
    pub fn variant(mut self, variant: &str) -> Self {
        variant.clone_into(&mut self.variant);
        self
    }

    /// Sets the status of all rows; `enqueued` unless told.
    pub fn status(mut self, status: &str) -> Self {
        status.clone_into(&mut self.status);
        self
    }

    /// Ends rows as tools on Windows do.
    pub fn crlf(mut self) -> Self {
        self.line_end = "\r\n";
        self
    }

    /// Gives the first jobs these ids instead of computed ones.
    pub fn job_ids<'a>(mut self, ids: impl IntoIterator<Item = &'a str>) -> Self {
        self.ids = ids.into_iter().map(str::to_owned).collect();
        self
    }

    /// Writes `config/adapters.yaml`.
    pub fn adapters(mut self, yaml: &str) -> Self {
        self.adapters = Some(yaml.to_owned());
        self
    }

    /// Makes the workspace.
    pub fn build(self) -> TestWorkspace {
        let mut workspace = TestWorkspace::empty();
        workspace.run.clone_from(&self.run);
        let mut registry = vec![REGISTRY_COLUMNS.to_owned()];
        let mut manifest = vec![MANIFEST_COLUMNS.to_owned()];
        for index in 0..self.products {
            let job = self.job(index);
            for image in &job.images {
                workspace.write(image, &[0xff, 0xd8, 0xff, 0xd9]);
            }
            registry.push(self.registry_row(&job));
            manifest.push(self.manifest_row(&job));
            workspace.jobs.push(job);
        }
        workspace.write("tables/generations.csv", &self.table(&registry));
        let path = format!("runs/{}/manifest.csv", self.run);
        workspace.write(&path, &self.table(&manifest));
        if let Some(yaml) = &self.adapters {
            workspace.write("config/adapters.yaml", yaml.as_bytes());
        }
        workspace
    }

    fn job(&self, index: usize) -> Job {
        let product = (self.first_product + index).to_string();
        let folder = if self.variant == "default" {
            product.clone()
        } else {
            format!("{product} - {}", self.variant)
        };
        let images = IMAGES.map(|name| format!("dataset/{folder}/images/{name}"));
        let images = images.to_vec();
        let id = self.ids.get(index).cloned().unwrap_or_else(|| {
            job_id(
                &product,
                &self.variant,
                &self.algo,
                &image_set_hash(&images),
            )
        });
        Job {
            id,
            product,
            images,
        }
    }

    fn registry_row(&self, job: &Job) -> String {
        let (variant, images) = (quoted(&self.variant), image_cells(job));
        format!(
            "{product},{variant},Maker,Product {product},,,,,{images},,{run},{id},{algo},,\
             {images},{hash},{status},2025-01-01T09:00:00.000001+00:00,",
            product = job.product,
            run = quoted(&self.run),
            id = quoted(&job.id),
            algo = self.algo,
            hash = image_set_hash(&job.images),
            status = self.status,
        )
    }

    fn manifest_row(&self, job: &Job) -> String {
        format!(
            "{id},{product},{variant},{algo},{images},{hash},,Product {product},Maker",
            id = quoted(&job.id),
            product = job.product,
            variant = quoted(&self.variant),
            algo = self.algo,
            images = image_cells(job),
            hash = image_set_hash(&job.images),
        )
    }

    fn table(&self, lines: &[String]) -> Vec<u8> {
        let mut bytes = b"\xef\xbb\xbf".to_vec();
        for line in lines {
            bytes.extend(line.as_bytes());
            bytes.extend(self.line_end.as_bytes());
        }
        bytes
    }
}

/// Returns the count of images and their six cells.
fn image_cells(job: &Job) -> String {
    let paths: Vec<String> = job.images.iter().map(|path| quoted(path)).collect();
    let empty = ",".repeat(6 - paths.len());
    format!("{},{}{empty}", paths.len(), paths.join(","))
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A workspace in a temporary folder, with one run that the shorthands mean.
#[derive(Debug)]
pub struct TestWorkspace {
    folder: TempDir,
    root: PathBuf,
    run: String,
    jobs: Vec<Job>,
}

impl TestWorkspace {
    /// Starts a workspace of `products` from `100001` on, one enqueued job each, two images each.
    pub fn with_products(products: usize) -> WorkspaceBuilder {
        WorkspaceBuilder {
            products,
            first_product: 100_001,
            run: "rk".to_owned(),
            algo: "trellis_single".to_owned(),
            variant: "default".to_owned(),
            status: "enqueued".to_owned(),
            line_end: "\n",
            ids: Vec::new(),
            adapters: None,
        }
    }

    /// Makes an empty folder.
    pub fn empty() -> Self {
        let folder = TempDir::new().expect("temporary folders can be made");
        let root = folder.path().canonicalize().expect("it was just made");
        Self {
            folder,
            root: root.join("ws"),
            run: "rk".to_owned(),
            jobs: Vec::new(),
        }
        .with_root()
    }

    fn with_root(self) -> Self {
        fs::create_dir(&self.root).expect("temporary folders are writable");
        self
    }

    /// Copies a whole folder; `run` is the one that the shorthands mean.
    pub fn copy_of(source: &Path, run: &str) -> Self {
        let mut workspace = Self::empty();
        run.clone_into(&mut workspace.run);
        copy_folder(source, &workspace.root);
        workspace
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a folder beside the workspace that goes away with it.
    pub fn outside(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the jobs as they were made, in manifest order.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Returns the id of job number `index`, from 0.
    #[track_caller]
    pub fn id(&self, index: usize) -> &str {
        &self.jobs[index].id
    }

    /// Returns a path below the workspace.
    pub fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// Returns a path below the run.
    pub fn run_path(&self, below: &str) -> PathBuf {
        self.root.join("runs").join(&self.run).join(below)
    }

    /// Writes a file below the workspace, and its folders.
    pub fn write(&self, below: &str, bytes: &[u8]) {
        let path = self.path(below);
        let folder = path.parent().expect("it is below the workspace");
        fs::create_dir_all(folder).expect("temporary folders are writable");
        fs::write(&path, bytes).expect("temporary folders are writable");
    }

    /// Returns the bytes of a file below the workspace.
    #[track_caller]
    pub fn bytes(&self, below: &str) -> Vec<u8> {
        fs::read(self.path(below)).unwrap_or_else(|error| panic!("{below}: {error}"))
    }

    /// Writes the ledger of money, both copies of it.
    pub fn write_ledger(&self, bytes: &[u8]) {
        self.write("tables/budget.jsonl", bytes);
        self.write("runs/.budget/ledger.jsonl", bytes);
    }

    /// Prepares the binary with these arguments and `--workspace`.
    pub fn archi3d(&self, arguments: &[&str]) -> Invocation {
        Invocation::archi3d(arguments)
            .arg("--workspace")
            .arg(&self.root)
    }

    /// Prepares `run worker` on the run with further options.
    pub fn worker(&self, options: &[&str]) -> Invocation {
        let mut arguments = vec!["run", "worker", "--run-id", &self.run];
        arguments.extend(options);
        self.archi3d(&arguments)
    }

    /// Reads the registry.
    #[track_caller]
    pub fn registry(&self) -> Registry {
        Registry::read(&self.path("tables/generations.csv"))
    }

    /// Returns the registry's row of a job of the run.
    #[track_caller]
    pub fn row(&self, job: &str) -> Row {
        self.registry().row(&self.run, job).clone()
    }

    /// Reads `logs/worker.log`.
    #[track_caller]
    pub fn log(&self) -> WorkerLog {
        WorkerLog::read(&self.path("logs/worker.log"))
    }

    /// Returns the endings of a job's files in `state/`, sorted (`completed`, `lock`, …).
    pub fn state_files(&self, job: &str) -> Vec<String> {
        let prefix = format!("{job}.");
        let names = read::tree(&self.run_path("state")).into_keys();
        names
            .filter_map(|name| Some(name.strip_prefix(&prefix)?.to_owned()))
            .collect()
    }

    /// Returns the ids of all jobs with such a file in `state/`, sorted.
    pub fn jobs_with(&self, ending: &str) -> Vec<String> {
        let suffix = format!(".{ending}");
        let names = read::tree(&self.run_path("state")).into_keys();
        names
            .filter_map(|name| Some(name.strip_suffix(&suffix)?.to_owned()))
            .collect()
    }

    /// Returns every file and folder with a mark of its content: equal before and after means
    /// that nothing changed.
    pub fn tree(&self) -> BTreeMap<String, String> {
        read::tree(&self.root)
    }

    /// Returns what only a crash leaves: temporary files and leases.
    pub fn leftovers(&self) -> Vec<String> {
        let names = self.tree().into_keys();
        names
            .filter(|name| {
                let ending = name.rsplit('.').next();
                ending.is_some_and(|ending| ["tmp", "inprogress"].contains(&ending))
            })
            .collect()
    }

    /// Waits until a path below the workspace exists.
    #[track_caller]
    pub fn wait_for_file(&self, below: &str) {
        wait_until(below, || self.path(below).exists());
    }

    /// Waits until the log has `count` events of one name.
    #[track_caller]
    pub fn wait_for_events(&self, name: &str, count: usize) {
        let what = format!("{count} {name} in worker.log");
        wait_until(&what, || self.log().events(name).len() >= count);
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("temporary folders are writable");
    for entry in fs::read_dir(from).expect("the source is readable") {
        let entry = entry.expect("the source is readable");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("temporary folders are writable");
        }
    }
}
