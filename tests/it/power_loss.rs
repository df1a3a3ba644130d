//! What a power loss leaves where a kill could not: names without their contents, contents
//! without their names, results that the table does not report yet and that are gone.

use std::fs::{self, File};
use std::path::PathBuf;

use crate::support::{TestWorkspace, wait_until};

const RESUME: &[&str] = &["--only-status", "enqueued,running"];

/// A workspace whose worker was killed between the end of its job and the table, and the text
/// that the job's lease had while it ran.
struct Cut {
    workspace: TestWorkspace,
    lease: Vec<u8>,
}

impl Cut {
    fn new(options: &str) -> Self {
        let yaml = format!(
            "adapters: {{mock: {{kind: mock, count_file: count.txt, wait_file: go{options}}}}}\n"
        );
        let workspace = TestWorkspace::with_products(1)
            .algo("mock")
            .adapters(&yaml)
            .build();
        let running = workspace.worker(&[]).spawn();
        wait_until("the adapter works", || {
            fs::read_to_string(workspace.path("count.txt")).is_ok_and(|text| !text.is_empty())
        });
        let lock = File::open(workspace.path("tables/generations.lock")).expect("there");
        lock.lock().expect("free for a moment");
        let state = |ending| workspace.run_path(&format!("state/{}.{ending}", workspace.id(0)));
        let lease = fs::read(state("inprogress")).expect("a lease");
        workspace.write("go", b"");
        wait_until("the job has ended", || state("completed").exists());
        let _ = running.kill();
        drop(lock);
        Self { workspace, lease }
    }

    fn marker(&self, ending: &str) -> PathBuf {
        let name = format!("state/{}.{ending}", self.workspace.id(0));
        self.workspace.run_path(&name)
    }

    fn model(&self) -> PathBuf {
        let name = format!("outputs/{}/generated.glb", self.workspace.id(0));
        self.workspace.run_path(&name)
    }

    /// Drops the lines that were not synced from the worker's journal.
    fn forget_in_journal(&self, event: &str) {
        let folder = self.workspace.run_path("state/journal");
        let journal = fs::read_dir(folder).expect("a folder").next();
        let path = journal.expect("a journal").expect("readable").path();
        let text = fs::read_to_string(&path).expect("text");
        let word = format!("\"event\":\"{event}\"");
        let kept: Vec<_> = text.lines().filter(|line| !line.contains(&word)).collect();
        fs::write(&path, kept.join("\n") + "\n").expect("written");
    }

    /// Starts again and demands that the job is whole, executed so often in all.
    #[track_caller]
    fn goes_on(&self, executions: usize) -> String {
        let ended = self.workspace.worker(RESUME).run().expect_code(0);
        let row = self.workspace.row(self.workspace.id(0));
        assert_eq!(&row["status"], "completed");
        assert!(self.marker("completed").exists());
        assert!(!self.marker("inprogress").exists());
        assert!(fs::metadata(self.model()).expect("a model").len() > 0);
        let counted = fs::read_to_string(self.workspace.path("count.txt")).expect("counted");
        assert_eq!(counted.lines().count(), executions, "{}", ended.stderr);
        counted
    }
}

#[test]
fn a_result_whose_files_never_reached_the_disk_is_made_again() {
    let cut = Cut::new("");
    fs::write(cut.model(), b"").expect("emptied");
    let _ = cut.goes_on(2);
    assert!(cut.marker("completed.corrupt-1").exists());
}

#[test]
fn a_result_that_was_bought_and_lost_its_files_is_fetched_not_bought() {
    let cut = Cut::new(", submit: true");
    fs::write(cut.model(), b"").expect("emptied");
    let counted = cut.goes_on(2);
    let id = format!("resumes mock-{}-1", cut.workspace.id(0));
    assert!(counted.ends_with(&format!("{id}\n")), "{counted}");
}

#[test]
fn a_result_that_was_bought_and_lost_files_and_marker_is_fetched_not_bought() {
    let cut = Cut::new(", submit: true");
    fs::write(cut.model(), b"").expect("emptied");
    fs::remove_file(cut.marker("completed")).expect("removed");
    assert!(cut.goes_on(2).contains("resumes mock-"));
}

#[test]
fn an_ending_with_the_text_of_its_lease_is_brought_back_by_the_journal() {
    let cut = Cut::new("");
    fs::write(cut.marker("completed"), &cut.lease).expect("written");
    let _ = cut.goes_on(1);
}

#[test]
fn an_ending_of_zeros_is_brought_back_by_the_journal() {
    let cut = Cut::new("");
    fs::write(cut.marker("completed"), [0; 900]).expect("written");
    let _ = cut.goes_on(1);
}

#[test]
fn an_empty_ending_that_no_journal_knows_of_is_not_believed() {
    let cut = Cut::new("");
    fs::write(cut.marker("completed"), b"").expect("emptied");
    cut.forget_in_journal("finished");
    cut.forget_in_journal("made");
    let _ = cut.goes_on(2);
}

#[test]
fn a_result_that_the_journal_only_tells_was_made_is_brought_back() {
    let cut = Cut::new("");
    fs::write(cut.marker("completed"), b"").expect("emptied");
    cut.forget_in_journal("finished");
    let _ = cut.goes_on(1);
}

#[test]
fn a_result_that_lost_a_preview_keeps_its_model() {
    let cut = Cut::new("");
    let preview = cut.model().with_file_name("preview_1.png");
    fs::write(preview, b"").expect("emptied");
    fs::remove_file(cut.marker("completed")).expect("removed");
    let _ = cut.goes_on(1);
}

#[test]
fn an_empty_lease_becomes_the_ending_that_the_journal_holds() {
    let cut = Cut::new("");
    fs::remove_file(cut.marker("completed")).expect("removed");
    fs::write(cut.marker("inprogress"), b"").expect("written");
    let _ = cut.goes_on(1);
}

#[test]
fn a_result_whose_description_was_half_written_is_brought_back_and_not_made_again() {
    let cut = Cut::new(", unit_price_usd: 0.4");
    let description = cut.model().with_file_name("metadata.json");
    let half = cut.model().with_file_name(".metadata.json.metadata.tmp");
    fs::rename(&description, &half).expect("renamed");
    fs::remove_file(cut.marker("completed")).expect("removed");
    let _ = cut.goes_on(1);
    assert!(description.exists() && !half.exists());
    let marker = fs::read_to_string(cut.marker("completed")).expect("text");
    assert!(!marker.contains(".tmp"), "{marker}");
}

#[test]
fn an_ending_with_the_text_of_its_lease_and_without_its_description_is_brought_back() {
    let cut = Cut::new(", unit_price_usd: 0.4");
    fs::write(cut.model().with_file_name("metadata.json"), b"").expect("emptied");
    fs::write(cut.marker("completed"), &cut.lease).expect("written");
    let _ = cut.goes_on(1);
}

#[test]
fn a_result_that_lost_its_description_alone_gets_it_back() {
    for harm in [None, Some(b"{\"adap")] {
        let cut = Cut::new("");
        let description = cut.model().with_file_name("metadata.json");
        let before = fs::read(&description).expect("described");
        match harm {
            Some(half) => fs::write(&description, half).expect("written"),
            None => fs::remove_file(&description).expect("removed"),
        }
        let _ = cut.goes_on(1);
        assert_eq!(fs::read(&description).expect("there again"), before);
    }
}

#[test]
fn a_folder_whose_claim_was_torn_out_of_the_journal_does_not_stay() {
    let workspace = TestWorkspace::with_products(1)
        .algo("mock")
        .adapters("adapters: {mock: {kind: mock, submit: true, wait_file: go}}\n")
        .build();
    // What lies there after a power cut are other files, so only silence tells that their worker is dead.
    let quick = ["--heartbeat-secs", "0.1", "--stale-secs", "0.3"];
    let running = workspace.worker(&quick).spawn();
    let journal = || {
        let folder = fs::read_dir(workspace.run_path("state/journal")).ok()?;
        let path = folder.last()?.ok()?.path();
        let text = fs::read_to_string(&path).ok()?;
        text.contains("\"submitted\"").then_some((path, text))
    };
    wait_until("something was bought", || journal().is_some());
    let _ = running.kill();
    let (path, text) = journal().expect("a journal");
    let kept = text.lines().filter(|line| !line.contains("\"claimed\""));
    let kept: Vec<&str> = kept.collect();
    fs::remove_file(&path).expect("removed");
    fs::write(&path, kept.join("\n") + "\n").expect("written");
    workspace.write("go", b"");
    wait_until("nothing is left of the dead attempt", || {
        let _ = workspace.worker(RESUME).run();
        let staging = fs::read_dir(workspace.run_path("outputs/.staging")).expect("a folder");
        staging.count() == 0
    });
    assert_eq!(&workspace.row(workspace.id(0))["status"], "completed");
}
