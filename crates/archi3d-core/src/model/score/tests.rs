//! Models whose pose and distance are known, compared.

use super::*;
use crate::model::Part;

fn never() -> bool {
    false
}

/// Boxes with these centres and half sizes, as a model.
fn boxes(list: &[([f32; 3], [f32; 3])]) -> Model {
    let mut part = Part::default();
    for (centre, half) in list {
        let first = u32::try_from(part.positions.len()).expect("few");
        for corner in 0..8_u32 {
            let side = |axis: u32| if corner >> axis & 1 == 1 { 1.0 } else { -1.0 };
            part.positions.push([
                centre[0] + side(0) * half[0],
                centre[1] + side(1) * half[1],
                centre[2] + side(2) * half[2],
            ]);
        }
        let quads = [
            [0, 1, 3, 2],
            [4, 6, 7, 5],
            [0, 4, 5, 1],
            [2, 3, 7, 6],
            [0, 2, 6, 4],
            [1, 5, 7, 3],
        ];
        for [a, b, c, d] in quads {
            for triangle in [[a, b, c], [a, c, d]] {
                part.triangles.push(triangle.map(|corner| first + corner));
            }
        }
    }
    Model {
        parts: vec![part],
        notes: Vec::new(),
    }
}

/// A chair with one arm: nothing about it is symmetric.
fn chair() -> Model {
    boxes(&[
        ([0.0, 0.45, 0.0], [0.25, 0.03, 0.25]),
        ([0.0, 0.8, -0.23], [0.25, 0.3, 0.02]),
        ([0.22, 0.2, 0.22], [0.02, 0.22, 0.02]),
        ([-0.22, 0.2, 0.22], [0.02, 0.22, 0.02]),
        ([0.22, 0.2, -0.22], [0.02, 0.22, 0.02]),
        ([-0.22, 0.2, -0.22], [0.02, 0.22, 0.02]),
        ([0.26, 0.65, 0.0], [0.02, 0.02, 0.2]),
    ])
}

fn moved(model: &Model, scale: f64, turn: &pose::Turn, shift: [f64; 3]) -> Model {
    let place = Similarity {
        turn: *turn,
        scale,
        shift,
    };
    let mut model = model.clone();
    for position in &mut model.parts[0].positions {
        #[expect(clippy::cast_possible_truncation, reason = "a place in a file")]
        let there = place.apply(position.map(f64::from)).map(|v| v as f32);
        *position = there;
    }
    model
}

#[test]
fn a_model_that_was_turned_scaled_and_moved_is_found_again() {
    let real = chair();
    let axis = [0.48, 0.64, 0.6];
    let poses = [
        (pose::around([0.0, 1.0, 0.0], 2.0), Pose::Upright),
        (pose::around(axis, 2.4), Pose::Turned),
    ];
    for (turn, kind) in poses {
        let made = moved(&real, 0.37, &turn, [3.0, -2.0, 8.0]);
        let found = compare(&made, &real, 10_000, &never).expect("compared");
        assert!(found.near_surface[1].fscore() > 0.98, "{found:?}");
        assert!((found.scale * 0.37 - 1.0).abs() < 0.005, "{found:?}");
        assert_eq!(found.pose, kind);
        assert!(!found.is_ambiguous(), "{found:?}");
        // There and back again: both turns cancel out.
        let there = pose::quaternion(&pose::transposed(&turn));
        let cos: f64 = there.iter().zip(found.turn).map(|(a, b)| a * b).sum();
        let degrees = 2.0 * cos.abs().min(1.0).acos().to_degrees();
        assert!(degrees < 1.0, "{degrees}");
    }
}

#[test]
fn a_mirror_image_is_another_model() {
    let real = chair();
    let mut made = real.clone();
    for position in &mut made.parts[0].positions {
        position[0] = -position[0];
    }
    let found = compare(&made, &real, 10_000, &never).expect("compared");
    assert!(found.near_surface[1].fscore() < 0.985, "{found:?}");
}

#[test]
fn a_card_scores_low_and_a_symmetric_model_is_not_ambiguous() {
    let card = boxes(&[([0.0, 0.5, 0.0], [0.25, 0.5, 0.002])]);
    let found = compare(&card, &chair(), 10_000, &never).expect("compared");
    assert!(found.near_surface[1].fscore() < 0.35, "{found:?}");
    let cube = boxes(&[([0.0; 3], [0.5; 3])]);
    let found = compare(&cube, &cube, 10_000, &never).expect("compared");
    assert!(
        found.near_surface[1].fscore() > 0.98 && !found.is_ambiguous(),
        "{found:?}"
    );
}

#[test]
fn the_same_models_give_the_same_numbers_and_nothing_gives_none() {
    let real = chair();
    let made = boxes(&[([0.0, 0.5, 0.0], [0.3, 0.5, 0.3])]);
    let once = compare(&made, &real, 600, &never).expect("compared");
    assert_eq!(compare(&made, &real, 600, &never), Ok(once));
    let flat = boxes(&[([0.0; 3], [0.0; 3])]);
    let reason = compare(&flat, &real, 100, &never).expect_err("nothing to compare");
    assert_eq!(reason.to_string(), "the made model has no extent");
    let line = boxes(&[([0.0; 3], [1.0, 0.0, 0.0])]);
    assert_eq!(compare(&line, &real, 100, &never), Err(ScoreError::NoArea));
    assert_eq!(
        compare(&made, &real, 100, &|| true),
        Err(ScoreError::Stopped)
    );
}
