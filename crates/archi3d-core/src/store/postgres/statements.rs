//! Every statement of the store: its text, and the types that go in and come out.
//!
//! The texts are files beside this one. Behind a pooler the types are sent along with each statement; a test compares
//! them with what a server says, so that a change of the schema or of a text is found before a worker finds it.

use postgres::types::Type;

/// A statement.
#[derive(Debug)]
pub struct Sql {
    /// What errors call it.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// What goes in, in order.
    pub parameters: &'static [Type],
    /// What comes out, in order.
    pub columns: &'static [Type],
}

macro_rules! statements {
    ($($constant:ident = $name:literal, [$($parameter:ident),*] => [$($column:ident),*];)*) => {
        $(pub(super) static $constant: Sql = Sql {
            name: $name,
            text: include_str!(concat!("sql/", $name, ".sql")),
            parameters: &[$(Type::$parameter),*],
            columns: &[$(Type::$column),*],
        };)*

        /// All of them.
        pub static ALL: &[&Sql] = &[$(&$constant),*];
    };
}

#[rustfmt::skip]
statements! {
    CLAIM = "claim",
        [INT8, TEXT_ARRAY, INT4_ARRAY, INT8_ARRAY, INT8, TEXT, FLOAT8, BOOL, BOOL, INT8_ARRAY]
        => [INT8, TEXT, TEXT, TEXT, TEXT, TEXT, INT4, UUID, INT8, TEXT, BOOL, TEXT, TEXT, TIMESTAMPTZ, INT4, INT4, INT4, TIMESTAMPTZ, BOOL];
    CLAIM_BOUGHT = "claim_bought",
        [INT8, TEXT_ARRAY, INT4_ARRAY, INT8, TEXT, FLOAT8, INT8_ARRAY]
        => [INT8, TEXT, TEXT, TEXT, TEXT, TEXT, INT4, UUID, INT8, TEXT, BOOL, TEXT, TEXT, TIMESTAMPTZ, INT4, INT4, INT4, TIMESTAMPTZ, BOOL];
    CLAIM_RARE = "claim_rare",
        [INT8, TEXT_ARRAY, INT4_ARRAY, BOOL_ARRAY, INT8, TEXT, FLOAT8, BOOL, INT8_ARRAY]
        => [INT8, TEXT, TEXT, TEXT, TEXT, TEXT, INT4, UUID, INT8, TEXT, BOOL, TEXT, TEXT, TIMESTAMPTZ, INT4, INT4, INT4, TIMESTAMPTZ, BOOL];
    CLAIM_ONE = "claim_one",
        [INT8, TEXT, TEXT, FLOAT8, BOOL, INT8_ARRAY]
        => [INT8, TEXT, TEXT, TEXT, TEXT, TEXT, INT4, UUID, INT8, TEXT, BOOL, TEXT, TEXT, TIMESTAMPTZ, INT4, INT4, INT4, TIMESTAMPTZ, BOOL];
    MINE = "mine",
        [INT8, TEXT, TEXT]
        => [INT8, INT4, UUID];
    BEAT = "beat",
        [INT8_ARRAY, UUID_ARRAY, FLOAT4_ARRAY, TEXT_ARRAY, FLOAT8, TEXT]
        => [INT8, UUID, BOOL];
    INTENT = "intent",
        [INT8, UUID, INT4, TEXT, FLOAT8]
        => [BOOL];
    SUBMITTED = "submitted",
        [INT8, UUID, INT4, TEXT, INT8]
        => [BOOL];
    MADE = "made",
        [INT8, UUID, INT4, TEXT]
        => [BOOL];
    LEFT_MADE = "left_made",
        [INT8, TEXT_ARRAY, INT8_ARRAY, INT8_ARRAY, TEXT]
        => [TEXT, INT8, INT4, UUID, TEXT, TIMESTAMPTZ, TEXT, BOOL];
    LEFT_BEFORE = "left_before",
        [INT8_ARRAY, INT4_ARRAY]
        => [INT8, INT4, UUID, TIMESTAMPTZ, TEXT, BOOL];
    SUCCEED = "succeed",
        [INT8_ARRAY, UUID_ARRAY, INT4_ARRAY, TEXT_ARRAY, BYTEA_ARRAY, TEXT_ARRAY, INT8_ARRAY, BYTEA_ARRAY, TEXT_ARRAY, BOOL_ARRAY, FLOAT8_ARRAY, TEXT_ARRAY, INT8_ARRAY, INT4_ARRAY, TEXT_ARRAY, INT8_ARRAY, BYTEA_ARRAY, TEXT_ARRAY]
        => [INT8, BOOL];
    SUCCEED_BARE = "succeed_bare",
        [INT8_ARRAY, UUID_ARRAY, INT4_ARRAY, TEXT_ARRAY, BYTEA_ARRAY, INT8_ARRAY, BYTEA_ARRAY, TEXT_ARRAY, BOOL_ARRAY, FLOAT8_ARRAY, TEXT_ARRAY]
        => [INT8];
    FENCED = "fenced",
        [INT8_ARRAY, UUID_ARRAY, INT4_ARRAY, TEXT_ARRAY]
        => [INT8];
    KEEP = "keep",
        [INT8, UUID, INT4, TEXT, TEXT_ARRAY, INT8_ARRAY, BYTEA_ARRAY]
        => [INT8];
    LEFT_BEHIND = "left_behind",
        [INT8, UUID, INT4, TEXT, BOOL]
        => [INT8];
    LATE = "late",
        [INT8]
        => [TEXT, TEXT, TEXT_ARRAY, INT8_ARRAY, BYTEA_ARRAY];
    REFERRED = "referred",
        []
        => [TEXT];
    FLEET_NAME = "fleet_name",
        []
        => [TEXT];
    FAIL = "fail",
        [INT8, UUID, INT4, TEXT, TEXT, INT8, BOOL, TEXT, TEXT, FLOAT8]
        => [TEXT, TEXT];
    PUT_OFF = "put_off",
        [INT8, UUID, INT4, TEXT, TEXT, FLOAT8, BOOL, BOOL, TEXT, INT8, BOOL, TEXT]
        => [TEXT, TEXT];
    RELEASE = "release",
        [INT8_ARRAY, UUID_ARRAY, INT4_ARRAY, TEXT, FLOAT8, BOOL, BOOL]
        => [INT8, TEXT];
    CANCEL = "cancel",
        [INT8, UUID, INT4]
        => [TEXT];
    SETTLED_ALREADY = "settled_already",
        [INT8_ARRAY, UUID_ARRAY, INT4_ARRAY]
        => [INT8, INT4, TEXT];
    FATES = "fates",
        [INT8_ARRAY, UUID_ARRAY]
        => [INT8, UUID, TEXT, TEXT, INT8, BOOL, BOOL, BOOL, BOOL, BOOL, BOOL];
    PURCHASES = "purchases",
        [INT8]
        => [TEXT, INT8, INT4, UUID];
    GIVE_UP = "give_up",
        [INT8, UUID]
        => [INT4];
    SWEEP = "sweep",
        [INT8, FLOAT8, INT8_ARRAY, TEXT, INT8_ARRAY, TEXT_ARRAY, INT8]
        => [TEXT, INT8];
    CANCEL_WAITING = "cancel_waiting",
        [INT8, INT8_ARRAY, TEXT_ARRAY]
        => [INT8, TEXT, TEXT, TEXT, INT4, BOOL];
    RUNS_TO_SERVE = "runs_to_serve",
        [TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY]
        => [INT8, TEXT, TEXT, BOOL, INT8];
    RESTORE = "restore",
        [INT8, INT8_ARRAY]
        => [INT8, TEXT, TEXT, INT4, BOOL];
    AGAIN = "again",
        [INT8, INT8_ARRAY, INT4_ARRAY, BOOL]
        => [INT8];
    REQUEUE = "requeue",
        [INT8, INT8_ARRAY, TEXT, BOOL]
        => [INT8];
    PRIORITIZE = "prioritize",
        [INT8, INT8_ARRAY, INT2]
        => [INT8];
    NOTIFY = "notify",
        [TEXT, TEXT]
        => [BOOL];
    FENCE = "fence",
        [INT8, UUID]
        => [TEXT, INT8, TEXT];
    TODAY = "today",
        [INT8]
        => [TEXT, INT8, TEXT];
    RESERVATION = "reservation",
        [INT8]
        => [INT4, UUID, TEXT, TEXT, INT8, BOOL];
    BUDGET_ADD = "budget_add",
        [TEXT, INT8, INT8, INT8]
        => [INT8, INT8];
    BUDGET_MOVE = "budget_move",
        [TEXT, INT8, INT8]
        => [INT8, INT8];
    LEVELS = "levels",
        [TEXT_ARRAY]
        => [TEXT, INT8, INT8];
    RESERVE_LINE = "reserve_line",
        [INT8, INT4, UUID, TEXT, TEXT, INT8, BOOL]
        => [INT8];
    SETTLE_LINE = "settle_line",
        [INT8, INT4, UUID, TEXT, INT8, BOOL, BOOL]
        => [INT8];
    RESERVATION_OVER = "reservation_over",
        [INT8]
        => [INT8];
    OPEN_RESERVATIONS = "open_reservations",
        [INT8, TEXT]
        => [INT8, INT4, UUID, TEXT, TEXT, TEXT, INT8, BOOL];
    OPEN_RESERVATIONS_EVERYWHERE = "open_reservations_everywhere",
        [TEXT]
        => [INT8, INT4, UUID, TEXT, TEXT, TEXT, INT8, BOOL];
    LEDGER_TOTALS = "ledger_totals",
        [INT8]
        => [TEXT, TEXT, TEXT, INT8, INT8, INT8];
    HIGHER_COST = "higher_cost",
        [INT8]
        => [TEXT, INT8];
    GLANCE = "glance",
        [INT8]
        => [TIMESTAMPTZ, BOOL, INT8, INT8, INT8, INT8];
    SPENT_BY_ALGO = "spent_by_algo",
        [INT8]
        => [TEXT, INT8];
    FAILURES = "failures",
        [INT8]
        => [TEXT, TEXT, TEXT, TEXT, TEXT, TIMESTAMPTZ, FLOAT8, BOOL];
    MEDIANS = "medians",
        [INT8]
        => [TEXT, FLOAT8];
    NAMES = "names",
        [INT8, INT8, INT8]
        => [INT8, INT8, TEXT, TEXT, TEXT, TEXT];
    NAMES_OF_PRODUCT = "names_of_product",
        [INT8, TEXT]
        => [TEXT];
    BY_HAND = "by_hand",
        [INT8]
        => [INT8, INT4, UUID, TEXT, TEXT, INT8, TIMESTAMPTZ];
    SETTLED = "settled",
        [INT8_ARRAY]
        => [UUID];
    JOB_NUMBERS = "job_numbers",
        [TEXT, TEXT_ARRAY]
        => [INT8, TEXT];
    PROVIDER_LOCK = "provider_lock",
        [TEXT]
        => [TEXT];
    PROVIDER_ROW = "provider_row",
        [TEXT]
        => [];
    ADMIT = "admit",
        [TEXT, INT4, FLOAT8, TEXT, FLOAT8]
        => [BOOL, INT4, TEXT, FLOAT8, FLOAT8, FLOAT8];
    REFUND = "refund",
        [TEXT, INT4, TEXT, FLOAT8, BOOL]
        => [BOOL];
    CLOSE_PROVIDER = "close_provider",
        [TEXT, FLOAT8, TEXT]
        => [TEXT];
    OPEN_PROVIDER = "open_provider",
        [TEXT]
        => [TEXT];
    GATES = "gates",
        []
        => [BOOL, TEXT, TIMESTAMPTZ, TIMESTAMPTZ, TEXT, FLOAT8, INT4];
    TRIP = "trip",
        [TEXT, BOOL, INT4, TEXT]
        => [INT4, BOOL];
    RESUME_ALGO = "resume_algo",
        [TEXT]
        => [TEXT];
    TRIAL = "trial",
        [INT8, TEXT, INT8, BOOL, TEXT]
        => [INT8, INT8, INT8];
    TRIAL_TURN = "trial_turn",
        [INT8, TEXT]
        => [INT4];
    PERFORM = "perform",
        [INT8, TEXT, INT8]
        => [INT8];
    REUSE = "reuse",
        [BYTEA, TEXT, UUID_ARRAY]
        => [TEXT, TEXT, INT8, INT4, UUID, TEXT, TEXT, TEXT];
    ARTIFACTS = "artifacts",
        [INT8, INT4]
        => [TEXT, INT8, BYTEA, TEXT];
    MAKING = "making",
        [BYTEA, INT8, UUID]
        => [BOOL];
    MAKING_OVER = "making_over",
        [BYTEA, UUID]
        => [BOOL];
    SERVING = "serving",
        []
        => [TEXT];
    STANDSTILL = "standstill",
        []
        => [TEXT];
    WORKER_REGISTER = "worker_register",
        [TEXT, TEXT, INT4, TEXT, INT8, INT4, FLOAT8, TEXT, FLOAT8]
        => [TEXT];
    WORKER_STATE = "worker_state",
        [TEXT, TEXT]
        => [TEXT];
    WORKER_SLOTS_OVER = "worker_slots_over",
        [TEXT]
        => [TEXT];
    SLOTS_KEPT = "slots_kept",
        [TEXT, TEXT_ARRAY, INT4_ARRAY]
        => [TEXT];
    WORKERS = "workers",
        [INT8]
        => [TEXT, TEXT, INT4, TEXT, TEXT, INT4, TEXT, TIMESTAMPTZ, TIMESTAMPTZ, FLOAT8, FLOAT8, INT8];
    RUN_ADD = "run_add",
        [TEXT, TEXT, BYTEA, BYTEA, INT4, TEXT]
        => [INT8, BOOL, BYTEA];
    RUN = "run",
        [TEXT]
        => [INT8, TEXT, TEXT, BYTEA, INT8, INT4, TEXT, TIMESTAMPTZ, TIMESTAMPTZ];
    RUNS = "runs",
        []
        => [INT8, TEXT, TEXT, BYTEA, INT8, INT4, TEXT, TIMESTAMPTZ, TIMESTAMPTZ];
    JOBS_ADD = "jobs_add",
        [INT8, TEXT, INT8_ARRAY, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY, BYTEA_ARRAY, BYTEA_ARRAY, INT2, INT4]
        => [INT8];
    HAND_OVER = "hand_over",
        [INT8, TEXT, INT8_ARRAY, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY, BYTEA_ARRAY, BYTEA_ARRAY, INT2, INT4, TEXT_ARRAY, TEXT_ARRAY, INT4_ARRAY, INT4_ARRAY, BOOL_ARRAY, BOOL_ARRAY, BOOL_ARRAY, BOOL_ARRAY, TEXT_ARRAY, TEXT_ARRAY, TIMESTAMPTZ_ARRAY, INT4_ARRAY, TIMESTAMPTZ_ARRAY, TEXT_ARRAY, TEXT_ARRAY, UUID_ARRAY]
        => [INT8];
    LAST_POSITION = "last_position",
        [INT8]
        => [INT8];
    EXPORT = "export",
        [INT8, INT8, INT8]
        => [INT8, TEXT, TEXT, BYTEA, TEXT, TEXT_ARRAY, INT4, UUID, TEXT_ARRAY, INT8_ARRAY, BYTEA_ARRAY];
    PROGRESS = "progress",
        [INT8]
        => [TEXT, INT8, INT8, INT8, INT8, INT8, INT8, INT8, INT8];
    JOBS = "jobs",
        [INT8, INT8, INT8]
        => [INT8, INT8, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, INT4, BOOL, TEXT, TEXT, TIMESTAMPTZ, TIMESTAMPTZ, BOOL, BOOL, TEXT, TEXT, TIMESTAMPTZ, TEXT, TEXT, TIMESTAMPTZ, BOOL, BOOL, INT4, INT4, INT4, FLOAT4, TEXT, TEXT, TIMESTAMPTZ];
    JOBS_NAMED = "jobs_named",
        [TEXT, TEXT, INT8]
        => [INT8, INT8, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, INT4, BOOL, TEXT, TEXT, TIMESTAMPTZ, TIMESTAMPTZ, BOOL, BOOL, TEXT, TEXT, TIMESTAMPTZ, TEXT, TEXT, TIMESTAMPTZ, BOOL, BOOL, INT4, INT4, INT4, FLOAT4, TEXT, TEXT, TIMESTAMPTZ];
    RUNNING = "running",
        [INT8, INT8]
        => [INT8, INT8, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, INT4, BOOL, TEXT, TEXT, TIMESTAMPTZ, TIMESTAMPTZ, BOOL, BOOL, TEXT, TEXT, TIMESTAMPTZ, TEXT, TEXT, TIMESTAMPTZ, BOOL, BOOL, INT4, INT4, INT4, FLOAT4, TEXT, TEXT, TIMESTAMPTZ];
    ATTEMPTS = "attempts",
        [INT8_ARRAY]
        => [INT8, INT4, UUID, TEXT, TEXT, TEXT, TEXT, BOOL, TEXT, TEXT, BOOL, TEXT, TEXT, TIMESTAMPTZ, TIMESTAMPTZ, BOOL, INT8, TEXT, FLOAT8, TEXT, TIMESTAMPTZ, TIMESTAMPTZ, BOOL];
    DURATIONS = "durations",
        [INT8, INT8]
        => [TEXT, INT8, FLOAT8, FLOAT8, FLOAT8, INT8, INT8];
    RECENT = "recent",
        [INT8, INT8]
        => [TEXT, TEXT, TIMESTAMPTZ, FLOAT8, BOOL];
    CHECKPOINTS = "checkpoints",
        [INT8, INT8, INT8]
        => [INT8, TEXT, INT4, TEXT, TEXT, TEXT, TIMESTAMPTZ];
    LEASE_HEALTH = "lease_health",
        [INT8]
        => [INT8, INT8, INT8, FLOAT8, FLOAT8];
    LOST_JOBS = "lost_jobs",
        [TEXT_ARRAY]
        => [TEXT, TEXT, TEXT];
    RECOVERY_STATS = "recovery_stats",
        [INT8, FLOAT8]
        => [TEXT, INT8, FLOAT8];
    PRUNE_CHECKPOINTS = "prune_checkpoints",
        [INT8, INT4]
        => [INT8];
    PRUNE_WORKERS = "prune_workers",
        [INT4]
        => [TEXT];
    PRUNE_KEYS = "prune_keys",
        []
        => [TEXT];
    PRUNE_JOBS = "prune_jobs",
        [INT4, INT8]
        => [INT8];
    PRUNE_RUNS = "prune_runs",
        [INT4]
        => [TEXT];
    FORGET_RUN = "forget_run",
        [INT8]
        => [TEXT];
    CLOSE_RUN = "close_run",
        [INT8, TIMESTAMPTZ]
        => [INT8];
    NOW = "now",
        []
        => [TIMESTAMPTZ];
    NEXT_DUE = "next_due",
        [INT8, TEXT_ARRAY]
        => [FLOAT8];
    LEFT = "left",
        [INT8, TEXT_ARRAY]
        => [BOOL];
    ALGO_VERSIONS = "algo_versions",
        [INT8]
        => [TEXT, TEXT];
    NOTICE_HEARING = "notice_hearing",
        []
        => [TEXT, TEXT];
    NOTICE_FORGET = "notice_forget",
        [TEXT_ARRAY, TEXT_ARRAY]
        => [TEXT];
    NOTICE_UNKNOWN = "notice_unknown",
        [TEXT_ARRAY]
        => [TEXT];
    NOTICE_ADD = "notice_add",
        [TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY, BOOL]
        => [TEXT];
    NOTICE_TAKE = "notice_take",
        [INT8, FLOAT8]
        => [TEXT, TEXT, TEXT, INT4];
    NOTICE_SETTLE = "notice_settle",
        [TEXT, TEXT, TEXT, FLOAT8]
        => [TEXT];
    ORDER_TURN = "order_turn",
        [INT8_ARRAY]
        => [BOOL];
    ORDER_SAME = "order_same",
        [BYTEA]
        => [INT8, TEXT, TEXT, TEXT];
    ORDER_PAST = "order_past",
        [BYTEA]
        => [INT8];
    ORDER_ADD = "order_add",
        [INT8, UUID, TEXT, INT8, TEXT, BOOL]
        => [INT8];
    ORDERED_TODAY = "ordered_today",
        [TEXT]
        => [INT8];
    ORDERS_OPEN = "orders_open",
        []
        => [TEXT, BOOL, BOOL, TEXT, INT8, FLOAT8];
    ORDERS = "orders",
        [TEXT]
        => [TEXT, TEXT];
    ORDERS_SHOWN = "orders_shown",
        [TEXT]
        => [INT8, TEXT, INT8];
    ORDERS_AGAIN = "orders_again",
        [TEXT]
        => [INT8, FLOAT8, FLOAT8];
    RETRY_TAKE = "retry_take",
        [UUID]
        => [INT8];
    REQUEST_KEY = "request_key",
        [TEXT]
        => [BYTEA, INT2, TEXT];
    REQUEST_KEY_ADD = "request_key_add",
        [TEXT, BYTEA, INT8, INT2, TEXT, FLOAT8]
        => [TEXT];
}
