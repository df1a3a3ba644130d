//! What a batch consists of, checked without any file.

use super::*;

fn item(product: &str, images: usize) -> CatalogItem {
    CatalogItem {
        product_id: product.into(),
        variant: "default".into(),
        images: (0..images).map(|n| format!("{product}/{n}.jpg")).collect(),
        ..CatalogItem::default()
    }
}

fn known() -> Vec<KnownAlgo> {
    let algo = |key: &str, mode| KnownAlgo {
        key: AlgoKey::parse(key).expect("valid"),
        mode,
    };
    vec![
        algo("a_multi", ImageMode::Multi),
        algo("b_single", ImageMode::Single),
        algo("c_single", ImageMode::Single),
    ]
}

fn names(keys: &[AlgoKey]) -> Vec<&str> {
    keys.iter().map(AlgoKey::as_str).collect()
}

fn shown<'a>(plan: &'a Plan<'_>) -> Vec<(&'a str, &'a str)> {
    let pair = |job: &PlannedJob<'a>| (job.item.product_id.as_str(), job.algo.as_str());
    plan.jobs.iter().map(pair).collect()
}

fn skips(plan: &Plan<'_>) -> Vec<(&'static str, usize)> {
    let pair = |(reason, count): (&SkipReason, &usize)| (reason.word(), *count);
    plan.skips.iter().map(pair).collect()
}

#[test]
fn an_algo_given_twice_counts_once_and_single_mode_comes_first() {
    let algos = select_algos("a_multi, c_single,a_multi,,b_single", &known()).expect("known");
    assert_eq!(names(&algos.algos), ["a_multi", "c_single", "b_single"]);
    let items = [item("1", 1)];
    let plan = Plan::new(&items, &algos, &ItemFilter::default());
    assert_eq!(
        shown(&plan),
        [("1", "c_single"), ("1", "b_single"), ("1", "a_multi")]
    );
}

#[test]
fn an_unknown_algo_is_refused_with_the_nearest_names() {
    let error = select_algos("b_single,a_mutli", &known()).expect_err("unknown");
    assert_eq!(
        error.to_string(),
        "unknown algo \"a_mutli\"; did you mean a_multi?"
    );
    assert_eq!(select_algos(" , ", &known()), Err(AlgoError::Empty));
}

#[test]
fn ecotest_takes_the_algos_that_fit_the_number_of_images() {
    let algos = select_algos("ecotest", &known()).expect("known");
    let items = [item("1", 1), item("2", 3)];
    let plan = Plan::new(&items, &algos, &ItemFilter::default());
    assert_eq!(
        shown(&plan),
        [("1", "b_single"), ("1", "c_single"), ("2", "a_multi")]
    );
    let only_multi = select_algos("ecotest", &known()[..1]).expect("known");
    let plan = Plan::new(&items, &only_multi, &ItemFilter::default());
    assert_eq!(skips(&plan), [("no_matching_algo", 1)]);
}

#[test]
fn filters_apply_in_order_and_items_without_images_do_not_use_up_the_limit() {
    let mut items = vec![item("10", 0), item("11", 1), item("12", 1), item("20", 1)];
    items.extend([item("13", 1), item("14", 1)]);
    for item in &mut items {
        item.product_name = "Sedia".into();
        item.gt = "x.glb".into();
    }
    items[1].variant = "Rossa".into();
    items[2].gt.clear();
    let algos = select_algos("b_single", &known()).expect("known");
    let filter = ItemFilter {
        include: Some("1".into()),
        exclude: Some("rOSSa".into()),
        with_gt_only: true,
        limit: Some(1),
    };
    let plan = Plan::new(&items, &algos, &filter);
    assert_eq!(shown(&plan), [("13", "b_single")]);
    assert_eq!(plan.candidates, 1);
    assert_eq!(
        skips(&plan),
        [
            ("filtered_include", 1),
            ("filtered_exclude", 1),
            ("with_gt_only", 1),
            ("no_images", 1)
        ]
    );
}

#[test]
fn a_limit_of_zero_or_less_and_empty_texts_filter_nothing() {
    let items = [item("1", 1), item("2", 1)];
    let algos = select_algos("b_single", &known()).expect("known");
    for limit in [0, -3, i64::MIN] {
        let filter = ItemFilter {
            include: Some(String::new()),
            exclude: Some(String::new()),
            limit: Some(limit),
            ..ItemFilter::default()
        };
        assert_eq!(Plan::new(&items, &algos, &filter).jobs.len(), 2);
    }
}

#[test]
fn existing_jobs_are_left_out_also_under_the_id_another_tool_gave_them() {
    let mut items = [item("1", 1), item("2", 1), item("3", 1)];
    items[1].variant = "NA".into();
    let algos = select_algos("b_single", &known()).expect("known");
    let mut plan = Plan::new(&items, &algos, &ItemFilter::default());
    let hash = image_set_hash(&items[1].images);
    let taken = [
        plan.jobs[0].job_id.clone(),
        job_id("2", "", "b_single", &hash),
    ];
    plan.leave_out_existing(|id| taken.iter().any(|taken| taken == id));
    assert_eq!(shown(&plan), [("3", "b_single")]);
    assert_eq!(skips(&plan), [("already_exists", 2)]);
    assert_eq!(plan.skipped(), 2);
}

#[test]
fn an_item_that_stands_twice_gives_its_jobs_once() {
    let items = [item("1", 1), item("1", 1)];
    let algos = select_algos("b_single", &known()).expect("known");
    let plan = Plan::new(&items, &algos, &ItemFilter::default());
    assert_eq!(plan.jobs.len(), 1);
    assert_eq!(skips(&plan), [("duplicate_job", 1)]);
}

#[test]
fn job_ids_agree_with_existing_workspaces() {
    let items: Vec<CatalogItem> = (1..=6)
        .map(|n| CatalogItem {
            images: ["p_A", "p_B"]
                .map(|name| format!("dataset/10000{n}/images/{name}.jpg"))
                .into(),
            ..item(&format!("10000{n}"), 0)
        })
        .collect();
    let algo = KnownAlgo {
        key: AlgoKey::parse("trellis_single").expect("valid"),
        mode: ImageMode::Single,
    };
    let algos = select_algos("trellis_single", &[algo]).expect("known");
    let plan = Plan::new(&items, &algos, &ItemFilter::default());
    let ids: Vec<&str> = plan.jobs.iter().map(|job| job.job_id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "d610ebfd455b",
            "41ee2eedbabf",
            "ad2160b7477b",
            "a8e3d6f93b6e",
            "052dd9295bb6",
            "41d537e6f0a2"
        ]
    );
}
