//! Draws a product as a photo: rays, a soft light from above, a shadow on the
//! floor, and smoothed edges. Slow for films, quick for a dozen pictures.

use image::{Rgba, RgbaImage};
use rayon::prelude::*;

use super::scene::{Part, Shape, Vec3};

/// How far the camera stands away, in sizes of the product.
const DISTANCE: f64 = 3.1;

/// How high the camera looks from, as the tangent of its angle.
const HEIGHT: f64 = 0.42;

/// The tangent of half the angle that the camera sees.
const OPENING: f64 = 0.30;

/// Where the light is from the middle of the product, in its sizes.
const LIGHT: Vec3 = [1.6, 3.2, 2.0];

/// The light is not a point: shadows are soft because each is taken from so many places of it,
const LIGHT_RAYS: u32 = 5;

/// and from more on the floor, where they show most.
const FLOOR_RAYS: u32 = 14;

/// How wide the light is, in sizes of the product.
const LIGHT_WIDTH: f64 = 0.55;

/// Turning by this from one place to the next spreads places evenly over a disc.
const GOLDEN_ANGLE: f64 = 2.399_963;

/// The edges of parts are drawn with this many rays in each direction.
const EDGE_RAYS: u32 = 3;

const FLOOR: Vec3 = [0.93, 0.93, 0.92];

/// Draws the parts as seen from `angle` around them. A cutout has nothing behind it.
pub(super) fn draw(parts: &[Part], angle: f64, size: u32, cutout: bool) -> RgbaImage {
    let camera = Camera::around(parts, angle);
    let scene = Scene {
        parts,
        camera,
        cutout,
        size,
    };
    let rough: Vec<(Option<usize>, [f64; 4])> = (0..size * size)
        .into_par_iter()
        .map(|pixel| scene.sample(f64::from(pixel % size) + 0.5, f64::from(pixel / size) + 0.5))
        .collect();
    let seen = |x: u32, y: u32| rough[(y * size + x) as usize].0;
    let is_edge = |x: u32, y: u32| {
        let here = seen(x, y);
        (x > 0 && seen(x - 1, y) != here)
            || (y > 0 && seen(x, y - 1) != here)
            || (x + 1 < size && seen(x + 1, y) != here)
            || (y + 1 < size && seen(x, y + 1) != here)
    };
    let colors: Vec<[u8; 4]> = (0..size * size)
        .into_par_iter()
        .map(|pixel| {
            let (x, y) = (pixel % size, pixel / size);
            if is_edge(x, y) {
                scene.smooth(x, y)
            } else {
                channels(rough[pixel as usize].1)
            }
        })
        .collect();
    RgbaImage::from_fn(size, size, |x, y| Rgba(colors[(y * size + x) as usize]))
}

struct Scene<'a> {
    parts: &'a [Part],
    camera: Camera,
    cutout: bool,
    size: u32,
}

struct Camera {
    eye: Vec3,
    forward: Vec3,
    right: Vec3,
    up: Vec3,
    light: Vec3,
    reach: f64,
}

impl Camera {
    fn around(parts: &[Part], angle: f64) -> Self {
        let (low, high) = bounds(parts);
        let middle = scale(add(low, high), 0.5);
        let reach = length(sub(high, low)) * 0.5;
        let toward = [angle.sin(), HEIGHT, angle.cos()];
        let eye = add(middle, scale(unit(toward), reach * DISTANCE / 0.9));
        let forward = unit(sub(middle, eye));
        let right = unit(cross(forward, [0.0, 1.0, 0.0]));
        Self {
            eye,
            forward,
            right,
            up: cross(right, forward),
            light: add(middle, scale(LIGHT, reach)),
            reach,
        }
    }
}

impl Scene<'_> {
    fn smooth(&self, x: u32, y: u32) -> [u8; 4] {
        let mut sum = [0.0; 4];
        let step = 1.0 / f64::from(EDGE_RAYS);
        for ray in 0..EDGE_RAYS * EDGE_RAYS {
            let dx = (f64::from(ray % EDGE_RAYS) + 0.5) * step;
            let dy = (f64::from(ray / EDGE_RAYS) + 0.5) * step;
            let color = self.sample(f64::from(x) + dx, f64::from(y) + dy).1;
            // A colour counts as much as it covers.
            for channel in 0..3 {
                sum[channel] += color[channel] * color[3];
            }
            sum[3] += color[3];
        }
        let covered = if sum[3] > 0.0 { sum[3] } else { 1.0 };
        let rays = f64::from(EDGE_RAYS * EDGE_RAYS);
        channels([
            sum[0] / covered,
            sum[1] / covered,
            sum[2] / covered,
            sum[3] / rays,
        ])
    }

    /// Returns what a ray meets and the colour it brings back.
    fn sample(&self, x: f64, y: f64) -> (Option<usize>, [f64; 4]) {
        let half = f64::from(self.size) * 0.5;
        let side = (x - half) / half * OPENING;
        let rise = (half - y) / half * OPENING;
        let camera = &self.camera;
        let across = add(scale(camera.right, side), scale(camera.up, rise));
        let ray = unit(add(camera.forward, across));
        if let Some((far, normal, part)) = nearest(self.parts, camera.eye, ray) {
            let at = add(camera.eye, scale(ray, far));
            let color = self.lit(at, normal, ray, self.parts[part].color);
            return (Some(part), solid(color));
        }
        if self.cutout {
            return (None, [1.0, 1.0, 1.0, 0.0]);
        }
        (None, solid(self.background(ray, rise)))
    }

    fn lit(&self, at: Vec3, normal: Vec3, ray: Vec3, color: Vec3) -> Vec3 {
        let to_light = unit(sub(self.camera.light, at));
        let start = add(at, scale(normal, 1e-4));
        let direct = dot(normal, to_light).max(0.0) * self.light_at(start, LIGHT_RAYS);
        let sky = 0.5 + 0.5 * normal[1];
        let fill = dot(normal, scale(self.camera.forward, -1.0)).max(0.0);
        let shine = dot(
            sub(to_light, scale(normal, 2.0 * dot(to_light, normal))),
            ray,
        );
        let shine = 0.16 * shine.max(0.0).powi(24) * direct;
        let light = 0.24 + 0.20 * sky + 0.16 * fill + 0.62 * direct;
        color.map(|channel| channel * light + shine)
    }

    /// Returns how much of the light reaches a point, from 0 to 1.
    fn light_at(&self, at: Vec3, rays: u32) -> f64 {
        let camera = &self.camera;
        let open = (0..rays).filter(|ray| {
            let turn = f64::from(*ray) * GOLDEN_ANGLE;
            let out = ((f64::from(*ray) + 0.5) / f64::from(rays)).sqrt();
            let out = out * LIGHT_WIDTH * camera.reach;
            let light = add(camera.light, [turn.cos() * out, 0.0, turn.sin() * out]);
            nearest(self.parts, at, unit(sub(light, at))).is_none()
        });
        open.count() as f64 / f64::from(rays)
    }

    fn background(&self, ray: Vec3, rise: f64) -> Vec3 {
        let wall = 0.90 + 0.07 * (rise / OPENING);
        let eye = self.camera.eye;
        if ray[1] >= -1e-6 {
            return [wall, wall, wall];
        }
        let far = -eye[1] / ray[1];
        let at = add(eye, scale(ray, far));
        // Far away the floor becomes the wall, as on a photographer's paper roll.
        let away = (length([at[0], 0.0, at[2]]) / (self.camera.reach * 4.0)).min(1.0);
        let lit = if away < 1.0 {
            self.light_at(add(at, [0.0, 1e-4, 0.0]), FLOOR_RAYS)
        } else {
            1.0
        };
        let shade = 0.66 + 0.34 * lit;
        FLOOR.map(|channel| channel * shade * (1.0 - away) + wall * away)
    }
}

/// Returns how far the nearest part is, the direction its surface faces, and which it is.
fn nearest(parts: &[Part], from: Vec3, ray: Vec3) -> Option<(f64, Vec3, usize)> {
    let mut found: Option<(f64, Vec3, usize)> = None;
    for (number, part) in parts.iter().enumerate() {
        let start = sub(from, part.at);
        let hit = match part.shape {
            Shape::Box(half) => meet_box(start, ray, half),
            Shape::Ball(radii) => meet_ball(start, ray, radii),
            Shape::Round(bottom, top, half) => meet_round(start, ray, bottom, top, half),
        };
        if let Some((far, normal)) = hit
            && found.is_none_or(|(best, ..)| far < best)
        {
            found = Some((far, normal, number));
        }
    }
    found
}

fn meet_box(start: Vec3, ray: Vec3, half: Vec3) -> Option<(f64, Vec3)> {
    let (mut enter, mut leave, mut axis) = (f64::NEG_INFINITY, f64::INFINITY, 0);
    for i in 0..3 {
        let one = (-half[i] - start[i]) / ray[i];
        let other = (half[i] - start[i]) / ray[i];
        let (near, far) = (one.min(other), one.max(other));
        if near > enter {
            (enter, axis) = (near, i);
        }
        leave = leave.min(far);
    }
    if enter >= leave || enter <= 1e-6 {
        return None;
    }
    let mut normal = [0.0; 3];
    normal[axis] = -ray[axis].signum();
    Some((enter, normal))
}

fn meet_ball(start: Vec3, ray: Vec3, radii: Vec3) -> Option<(f64, Vec3)> {
    let by_radius = |v: Vec3| [v[0] / radii[0], v[1] / radii[1], v[2] / radii[2]];
    let (start, ray) = (by_radius(start), by_radius(ray));
    let (a, b) = (dot(ray, ray), dot(start, ray));
    let under = b * b - a * (dot(start, start) - 1.0);
    if under <= 0.0 {
        return None;
    }
    let far = (-b - under.sqrt()) / a;
    let at = add(start, scale(ray, far));
    (far > 1e-6).then(|| (far, unit(by_radius(at))))
}

/// A cone cut off at both ends: its side, then its lids.
fn meet_round(start: Vec3, ray: Vec3, bottom: f64, top: f64, half: f64) -> Option<(f64, Vec3)> {
    let slope = (top - bottom) / (2.0 * half);
    let radius = |y: f64| bottom + slope * (y + half);
    let (r0, dr) = (radius(start[1]), slope * ray[1]);
    let a = ray[0] * ray[0] + ray[2] * ray[2] - dr * dr;
    let b = start[0] * ray[0] + start[2] * ray[2] - r0 * dr;
    let c = start[0] * start[0] + start[2] * start[2] - r0 * r0;
    let mut best: Option<(f64, Vec3)> = None;
    let mut offer = |far: f64, normal: Vec3| {
        if far > 1e-6 && best.is_none_or(|(nearest, _)| far < nearest) {
            best = Some((far, normal));
        }
    };
    let under = b * b - a * c;
    if under > 0.0 && a.abs() > 1e-12 {
        for far in [(-b - under.sqrt()) / a, (-b + under.sqrt()) / a] {
            let at = add(start, scale(ray, far));
            if at[1].abs() <= half && radius(at[1]) >= 0.0 {
                offer(far, unit([at[0], -slope * radius(at[1]), at[2]]));
            }
        }
    }
    for (y, limit, up) in [(-half, bottom, -1.0), (half, top, 1.0)] {
        let far = (y - start[1]) / ray[1];
        let at = add(start, scale(ray, far));
        if at[0] * at[0] + at[2] * at[2] <= limit * limit {
            offer(far, [0.0, up, 0.0]);
        }
    }
    best
}

fn bounds(parts: &[Part]) -> (Vec3, Vec3) {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for part in parts {
        let half = match part.shape {
            Shape::Box(half) => half,
            Shape::Ball(radii) => radii,
            Shape::Round(bottom, top, half) => [bottom.max(top), half, bottom.max(top)],
        };
        for i in 0..3 {
            low[i] = low[i].min(part.at[i] - half[i]);
            high[i] = high[i].max(part.at[i] + half[i]);
        }
    }
    (low, high)
}

fn solid([red, green, blue]: Vec3) -> [f64; 4] {
    [red, green, blue, 1.0]
}

fn channels(color: [f64; 4]) -> [u8; 4] {
    color.map(channel)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to 0..=255 first"
)]
fn channel(value: f64) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

pub(super) fn add(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn scale(a: Vec3, by: f64) -> Vec3 {
    a.map(|x| x * by)
}

fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn length(a: Vec3) -> f64 {
    dot(a, a).sqrt()
}

pub(super) fn unit(a: Vec3) -> Vec3 {
    scale(a, 1.0 / length(a))
}
