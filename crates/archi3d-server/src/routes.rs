//! The table of routes: what each path does, who may, what it takes, and what is told of it.
//! A path that does not stand here does not exist.

use std::collections::HashMap;

use axum::http::Method;

use archi3d_core::ops::tokens::Role;

use crate::call::{Answer, Call, unquoted};
use crate::problem::{
    ARTIFACT_MISSING, BAD_KEY, BAD_PICTURE, BUDGET, INVALID, KEY_IN_PROGRESS, KEY_MISSING,
    KEY_REUSED, Kind, MALFORMED_JSON, MAX_COST_MISSING, MEDIA_TYPE, NO_ALGO, NO_ARTIFACT, NO_ITEM,
    NO_JOB, NO_RUN, NOT_FINISHED, NOT_FOUND, PLAN_CHANGED, RANGE, RUN_CANCELLED, RUN_FAILED,
    RUN_ID_TAKEN, TOO_LARGE, TOO_MANY, UNAUTHORIZED, UNKNOWN_ALGO, UNKNOWN_ITEM,
};
use crate::{jobs, metrics, openapi, pages, reads, runs, writes};

/// What the API's paths begin with.
pub(crate) const PREFIX: &str = "/api/v1";

/// What a route takes as a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    Nothing,
    Json,
    Picture,
}

impl Body {
    pub(crate) fn most_bytes(self) -> usize {
        match self {
            Self::Nothing => 64 << 10,
            Self::Json => 1 << 20,
            Self::Picture => 50 << 20,
        }
    }
}

/// Where a path stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Below the prefix.
    Api,
    /// Below the prefix and without it.
    Both,
    /// Without the prefix.
    Root,
}

/// A path with a method.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) method: &'static str,
    /// Without the prefix.
    pub(crate) path: &'static str,
    pub(crate) place: Place,
    /// Nobody needs a token where there is none.
    pub(crate) role: Option<Role>,
    pub(crate) query: &'static [&'static str],
    pub(crate) body: Body,
    pub(crate) summary: &'static str,
    /// What success looks like: status and schema; without a schema it is no JSON.
    pub(crate) answers: &'static [(u16, &'static str)],
    pub(crate) problems: &'static [Kind],
    pub(crate) handler: fn(&Call) -> Answer,
}

impl Route {
    /// Tells whether it writes nothing, although it takes a body.
    pub(crate) fn only_looks(&self) -> bool {
        self.role == Some(Role::Read)
    }

    pub(crate) fn takes(&self, name: &str) -> bool {
        self.query.contains(&name)
    }
}

const LIST: [&str; 2] = ["limit", "cursor"];

const fn get(
    path: &'static str,
    place: Place,
    summary: &'static str,
    answers: &'static [(u16, &'static str)],
    handler: fn(&Call) -> Answer,
) -> Route {
    Route {
        method: "GET",
        path,
        place,
        role: Some(Role::Read),
        query: &[],
        body: Body::Nothing,
        summary,
        answers,
        problems: &[],
        handler,
    }
}

const fn post(
    path: &'static str,
    role: Role,
    summary: &'static str,
    answers: &'static [(u16, &'static str)],
    problems: &'static [Kind],
    handler: fn(&Call) -> Answer,
) -> Route {
    Route {
        method: "POST",
        path,
        place: Place::Api,
        role: Some(role),
        query: &[],
        body: Body::Json,
        summary,
        answers,
        problems,
        handler,
    }
}

/// Every route.
pub(crate) static ROUTES: &[Route] = &[
    Route {
        query: &["status", "algo", "q", "sort", LIST[0], LIST[1]],
        ..get(
            "/runs",
            Place::Both,
            "List runs",
            &[(200, "Runs")],
            runs::list,
        )
    },
    Route {
        problems: &[NO_RUN],
        ..get(
            "/runs/{run}",
            Place::Both,
            "The status of a run",
            &[(200, "RunDetail")],
            runs::one,
        )
    },
    Route {
        query: &LIST,
        problems: &[NO_RUN, NOT_FINISHED, RUN_FAILED, RUN_CANCELLED],
        ..get(
            "/runs/{run}/result",
            Place::Both,
            "The result of a run that succeeded",
            &[(200, "Result")],
            jobs::result,
        )
    },
    Route {
        query: &[
            "status", "algo", "class", "item", "q", "sort", LIST[0], LIST[1],
        ],
        problems: &[NO_RUN],
        ..get(
            "/runs/{run}/jobs",
            Place::Api,
            "List the jobs of a run",
            &[(200, "Jobs")],
            jobs::list,
        )
    },
    Route {
        problems: &[NO_RUN, NO_JOB],
        ..get(
            "/runs/{run}/jobs/{job}",
            Place::Api,
            "One job with its attempts and files",
            &[(200, "JobDetail")],
            jobs::one,
        )
    },
    Route {
        problems: &[NO_RUN, NO_JOB],
        ..get(
            "/runs/{run}/jobs/{job}/explain",
            Place::Api,
            "Why a job is where it is",
            &[(200, "Explanation")],
            jobs::explain,
        )
    },
    Route {
        problems: &[NO_RUN, NO_JOB, NO_ARTIFACT, ARTIFACT_MISSING, RANGE],
        ..get(
            "/runs/{run}/jobs/{job}/artifacts/{name}",
            Place::Api,
            "A file of a job",
            &[(200, ""), (206, "")],
            jobs::artifact,
        )
    },
    Route {
        query: &["q", LIST[0], LIST[1]],
        ..get(
            "/items",
            Place::Api,
            "List the items of the catalogue",
            &[(200, "Items")],
            reads::items,
        )
    },
    Route {
        problems: &[NO_ITEM],
        ..get(
            "/items/{item}",
            Place::Api,
            "One item with its jobs in all runs",
            &[(200, "Item")],
            reads::item,
        )
    },
    Route {
        problems: &[NO_ITEM, RANGE],
        ..get(
            "/items/{item}/pictures/{n}",
            Place::Api,
            "A picture of an item",
            &[(200, ""), (206, "")],
            reads::picture,
        )
    },
    Route {
        query: &LIST,
        ..get(
            "/algos",
            Place::Api,
            "List what is configured",
            &[(200, "Algos")],
            reads::algos,
        )
    },
    Route {
        query: &LIST,
        ..get(
            "/workers",
            Place::Api,
            "List workers",
            &[(200, "Workers")],
            reads::workers,
        )
    },
    Route {
        query: &["by", "run_id", "from", "to"],
        problems: &[NO_RUN],
        ..get(
            "/costs",
            Place::Api,
            "What was paid",
            &[(200, "Costs")],
            reads::costs,
        )
    },
    get(
        "/votes",
        Place::Api,
        "Votes and verdicts",
        &[(200, "Votes")],
        reads::votes,
    ),
    Route {
        problems: &[NO_ARTIFACT, RANGE],
        ..get(
            "/uploads/{sha256}",
            Place::Api,
            "A picture that was uploaded",
            &[(200, ""), (206, "")],
            reads::upload,
        )
    },
    Route {
        query: &["run_id", "job_id", "types"],
        ..get(
            "/events",
            Place::Api,
            "What happens, as server-sent events",
            &[(200, "")],
            reads::events,
        )
    },
    get(
        "/session",
        Place::Api,
        "Who one is",
        &[(200, "Session")],
        writes::who,
    ),
    Route {
        role: None,
        ..post(
            "/session",
            Role::Read,
            "Trade a token for a cookie",
            &[(200, "Session")],
            &[MALFORMED_JSON, UNAUTHORIZED, MEDIA_TYPE, INVALID],
            writes::sign_in,
        )
    },
    Route {
        method: "DELETE",
        body: Body::Nothing,
        // Also who has a token that is no longer known.
        role: None,
        ..post(
            "/session",
            Role::Read,
            "Forget the cookie",
            &[(204, "")],
            &[],
            writes::sign_out,
        )
    },
    post(
        "/plans",
        Role::Read,
        "What POST /runs would do and cost",
        &[(200, "Plan")],
        &[
            MALFORMED_JSON,
            MEDIA_TYPE,
            TOO_LARGE,
            INVALID,
            UNKNOWN_ALGO,
            UNKNOWN_ITEM,
            BAD_PICTURE,
        ],
        runs::plan,
    ),
    Route {
        place: Place::Both,
        ..post(
            "/runs",
            Role::Submit,
            "Make a run",
            &[(201, "MadeRun"), (200, "MadeRun")],
            &[
                MALFORMED_JSON,
                BAD_KEY,
                BUDGET,
                RUN_ID_TAKEN,
                KEY_IN_PROGRESS,
                PLAN_CHANGED,
                TOO_LARGE,
                MEDIA_TYPE,
                INVALID,
                KEY_REUSED,
                UNKNOWN_ALGO,
                UNKNOWN_ITEM,
                BAD_PICTURE,
                MAX_COST_MISSING,
                KEY_MISSING,
                TOO_MANY,
            ],
            runs::submit,
        )
    },
    post(
        "/runs/{run}/cancel",
        Role::Submit,
        "Take jobs out of a run, or put them back",
        &[(202, "Cancelled")],
        &[MALFORMED_JSON, NO_RUN, BUDGET, MEDIA_TYPE, INVALID],
        writes::cancel,
    ),
    post(
        "/runs/{run}/retry",
        Role::Submit,
        "Try failed jobs again",
        &[(202, "Plan"), (200, "Plan")],
        &[
            MALFORMED_JSON,
            BAD_KEY,
            NO_RUN,
            BUDGET,
            KEY_IN_PROGRESS,
            PLAN_CHANGED,
            MEDIA_TYPE,
            INVALID,
            KEY_REUSED,
            MAX_COST_MISSING,
        ],
        writes::retry,
    ),
    Route {
        body: Body::Picture,
        ..post(
            "/uploads",
            Role::Submit,
            "Keep a picture",
            &[(201, "Upload"), (200, "Upload")],
            &[TOO_LARGE, MEDIA_TYPE, BAD_PICTURE],
            writes::upload,
        )
    },
    post(
        "/algos/{key}/resume",
        Role::Admin,
        "Open a closed provider or a paused algo",
        &[(200, "Resumed")],
        &[NO_ALGO, MALFORMED_JSON, MEDIA_TYPE, INVALID],
        writes::resume,
    ),
    post(
        "/votes",
        Role::Judge,
        "Add votes and verdicts",
        &[(201, "Imported")],
        &[MALFORMED_JSON, MEDIA_TYPE, INVALID],
        writes::votes,
    ),
    get(
        "/metrics",
        Place::Both,
        "Prometheus text",
        &[(200, "")],
        metrics::show,
    ),
    Route {
        role: None,
        ..get(
            "/healthz",
            Place::Both,
            "Whether the service is alive",
            &[(200, "Health")],
            reads::healthz,
        )
    },
    Route {
        role: None,
        ..get(
            "/readyz",
            Place::Both,
            "Whether it can work",
            &[(200, "Readiness"), (503, "Readiness")],
            reads::readyz,
        )
    },
    Route {
        role: None,
        ..get(
            "/openapi.json",
            Place::Both,
            "The contract",
            &[(200, "Anything")],
            openapi::show,
        )
    },
    Route {
        role: None,
        ..get(
            "/problems",
            Place::Both,
            "List the kinds of errors",
            &[(200, "Kinds")],
            reads::kinds,
        )
    },
    Route {
        role: None,
        problems: &[NOT_FOUND],
        ..get(
            "/problems/{kind}",
            Place::Both,
            "One kind of error",
            &[(200, "Kind")],
            reads::kind,
        )
    },
    Route {
        role: None,
        ..get(
            "/",
            Place::Root,
            "The dashboard",
            &[(200, "")],
            pages::index,
        )
    },
    Route {
        role: None,
        problems: &[NOT_FOUND],
        ..get(
            "/{page}",
            Place::Root,
            "A file of the dashboard",
            &[(200, "")],
            pages::file,
        )
    },
];

/// What a path leads to.
pub(crate) enum Found {
    Route(&'static Route, HashMap<String, String>),
    /// The path is known, with these methods.
    Methods(Vec<&'static str>),
    Nothing,
}

/// Finds the route of a request. Of several that fit, the one that stands first is meant.
pub(crate) fn find(method: &Method, path: &str) -> Found {
    let below = path
        .strip_prefix(PREFIX)
        .filter(|rest| rest.starts_with('/'));
    let mut methods = Vec::new();
    for route in ROUTES {
        let prefixed = below.filter(|_| route.place != Place::Root);
        let bare = Some(path).filter(|_| route.place != Place::Api);
        for path in prefixed.into_iter().chain(bare) {
            if let Some(bound) = bind(route.path, path) {
                if route.method == method.as_str() {
                    return Found::Route(route, bound);
                }
                methods.push(route.method);
            }
        }
    }
    methods.sort_unstable();
    methods.dedup();
    if methods.is_empty() {
        Found::Nothing
    } else {
        Found::Methods(methods)
    }
}

fn bind(pattern: &str, path: &str) -> Option<HashMap<String, String>> {
    let mut bound = HashMap::new();
    let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(bound),
            (Some(wanted), Some(given)) => match wanted.strip_prefix('{') {
                Some(name) if !given.is_empty() => {
                    bound.insert(
                        name.trim_end_matches('}').to_owned(),
                        unquoted(given, false)?,
                    );
                }
                None if wanted == given => {}
                _ => return None,
            },
            _ => return None,
        }
    }
}
