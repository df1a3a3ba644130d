//! The one integration binary: the program and its library as others meet them.
//!
//! - [`adapter_protocol`]: programs that buy: intents, void purchases, costs, unknown words.
//! - [`adapters_command`]: what is configured is told truthfully and tried without a trace.
//! - [`architecture`]: who may import whom, what each layer must not do, and that promises name their tests.
//! - `artifacts`: what every place for bytes promises.
//! - [`attempts`]: the ledger of attempts, complete and patient with damage.
//! - [`bad_disk`]: disks that are full or may not be written cost no result.
//! - [`bad_files`]: folders, links, pipes and damage where plain files should be.
//! - [`bad_input`]: requests and tables that cannot be used are refused without harm.
//! - [`batch_damage`]: what a dead writer left of a batch is repaired or refused.
//! - [`batch`]: from the item table to the jobs of a run.
//! - [`budget`]: spending limits hold for all workers together, whatever dies.
//! - [`cancel`]: jobs taken out of a run and put back.
//! - [`canary`]: algorithms on trial, algorithms that pause, and the order of jobs.
//! - [`catalog_history`]: catalogs of workspaces that have a past, or had a death.
//! - [`catalog_pictures`]: why a product has no pictures, and settings without effect.
//! - [`catalog_products`]: products files that are odd, huge or about something else.
//! - [`catalog`]: from a dataset to the item table.
//! - `completions`: what shells offer, and manual pages.
//! - [`config_show`]: where the workspace and each setting come from.
//! - [`consolidate`]: rows brought in line with what is on disk.
//! - [`demo`]: from nothing to finished models with one command.
//! - [`disputed_results`]: results made beside us, spoilt markers, endings that wait to be published.
//! - [`doctor`]: what is wrong is found with its remedy; looking changes nothing.
//! - [`doctor_losses`]: records that were lost or spoilt are told with what really brings them back.
//! - [`doubt`]: what cannot be told is neither taken for death nor for a job that was never tried.
//! - [`engine`]: the engine on the store in memory and on PostgreSQL, with adapters that do what a test says.
//! - `export`: models under telling names, and never over anything.
//! - `faithful_double`: fal's own client takes the double for fal.
//! - `first_reads`: what a worker reads before its first job.
//! - [`fixtures`]: the shipped workspaces are what they claim to be.
//! - `fleet`: runs handed over to PostgreSQL and brought back, through the program.
//! - [`harmed_ledger`]: a ledger of money that is harmed, also while workers spend, lifts no limit.
//! - `hostile`: a corpus of bad workspaces, and every command on each of them.
//! - [`init`]: an empty workspace, made without changing what is there.
//! - `json_shapes`: the name and kind of every field of `--json` and of the log.
//! - [`kill_and_resume`]: workers killed at random moments lose nothing and repeat nothing.
//! - [`known_failures`]: what such workers have got wrong before, kept right here.
//! - [`limits`]: what providers bear holds for all workers together and holds up nobody else.
//! - `linked_runs`: a link in the place of a run is no run.
//! - `made_results`: what an adapter called a success is published or kept, never made twice.
//! - [`machine_output`]: machines get one object whatever happens, and every name as it is.
//! - [`odd_environment`]: places and settings that programs are seldom started in.
//! - [`original_workspace`]: a workspace of the Python original, worked on without harm.
//! - [`plan`]: what a plan foretells is what a worker does, and it leaves no trace.
//! - `postgres`: runs in PostgreSQL, below the store's traits, on a real server.
//! - [`prices`]: prices that a service lists hold between the shipped ones and one's own.
//! - [`providers`]: a provider out of credit is closed for everybody and opened again.
//! - [`purchases`]: nothing is bought twice, whatever ends an attempt.
//! - [`python_interop`]: Python tools and workers share one registry.
//! - [`rebuild`]: a registry that was lost or spoilt comes back byte for byte.
//! - [`relief`]: real pictures become valid models, hostile ones fail their own job.
//! - [`retries`]: failures that may pass are tried again, not before their time.
//! - `reuse`: earlier results are copied instead of bought.
//! - `scores`: models measured against the real ones, by the program and by others.
//! - `security`: no shell, no leaked secret, no file outside or open to everybody.
//! - `self_check`: what somebody types after installing.
//! - [`seed_identity`]: who ran a job, and what a workspace has around it.
//! - [`seed_requirements`]: how jobs are started, kept alive, resumed and ended.
//! - [`seed_results`]: what a job leaves behind in files, table and log.
//! - [`seed_selection`]: which jobs a worker takes, in which order and with what.
//! - `service`: the API over HTTP: submitting, reading, who may, and workers that follow.
//! - `services`: models bought from doubles of paid services, whatever these answer.
//! - `services_doubt`: what these leave open is a person's question, and never bought twice.
//! - `set_up`: what is wrong with the set-up is no failure of a job.
//! - [`spreadsheets`]: job ids that a spreadsheet has changed are no jobs of their own.
//! - [`store_contract`]: what every store promises, asked of each kind of store.
//! - [`stuck`]: wrong clocks, held locks and tables that people change hold nothing up and hide nothing.
//! - [`support_check`]: the support itself does what tests rely on.
//! - [`support`]: workspaces to run in, the real binary, and readers of what it leaves behind.
//! - `unreliable_places`: a bucket's place and a cache that others use, fill or unmount meanwhile.
//! - [`views`]: status, explanations and cost reports show what is there.
//! - [`waiting`]: a worker that waits says what for, is idle, and leaves a provider alone that asks for it.
//! - `billed_provider`: whatever dies while buying, every job is paid for once.
//! - `process_adapter`: programs as adapters, from the request to the result.
//! - `process_guard`: nothing outlives its worker, however that ends.
//! - `process_hostile`: programs that misbehave cost their own job only.

#![expect(
    clippy::disallowed_methods,
    reason = "tests set up files, environments and processes themselves"
)]
#![expect(
    unreachable_pub,
    reason = "a test binary exports nothing; `pub` here means for other modules"
)]

mod adapter_protocol;
mod adapters_command;
mod architecture;
#[cfg(feature = "objects")]
mod artifacts;
mod attempts;
mod bad_disk;
mod bad_files;
mod bad_input;
mod batch;
mod batch_damage;
#[cfg(target_os = "linux")]
mod billed_provider;
mod budget;
mod canary;
mod cancel;
mod catalog;
mod catalog_history;
mod catalog_pictures;
mod catalog_products;
#[cfg(unix)]
mod completions;
mod config_show;
#[cfg(target_os = "linux")]
mod consent;
mod consolidate;
mod demo;
mod disputed_results;
mod doctor;
mod doctor_losses;
mod doubt;
mod engine;
mod export;
#[cfg(target_os = "linux")]
mod faithful_double;
mod fault_points;
mod first_hour;
#[cfg(target_os = "linux")]
mod first_reads;
mod fixtures;
#[cfg(all(target_os = "linux", feature = "postgres"))]
mod fleet;
mod foresight;
mod harmed_ledger;
#[cfg(unix)]
mod hostile;
mod init;
mod json_shapes;
mod judge;
mod kept_results;
mod kill_and_resume;
mod known_failures;
mod ledger;
mod limits;
#[cfg(unix)]
mod linked_runs;
#[cfg(target_os = "linux")]
mod lost_records;
mod machine_output;
mod made_results;
mod next_command;
mod odd_environment;
mod original_workspace;
mod plan;
#[cfg(all(target_os = "linux", feature = "postgres"))]
mod postgres;
#[cfg(target_os = "linux")]
mod power_loss;
mod prices;
mod process_adapter;
#[cfg(target_os = "linux")]
mod process_guard;
#[cfg(target_os = "linux")]
mod process_hostile;
mod providers;
mod purchases;
mod python_interop;
mod rebuild;
mod relief;
mod report;
mod retries;
#[cfg(target_os = "linux")]
mod reuse;
#[cfg(target_os = "linux")]
mod scores;
mod security;
mod seed_identity;
mod seed_requirements;
mod seed_results;
mod seed_selection;
#[cfg(target_os = "linux")]
mod self_check;
#[cfg(all(target_os = "linux", feature = "serve"))]
mod service;
mod services;
mod services_doubt;
mod services_faults;
#[cfg(unix)]
mod set_up;
mod spreadsheets;
mod store_contract;
mod stuck;
mod sums;
mod support;
mod support_check;
#[cfg(unix)]
mod unheard;
#[cfg(feature = "objects")]
mod unreliable_places;
mod views;
mod waiting;
