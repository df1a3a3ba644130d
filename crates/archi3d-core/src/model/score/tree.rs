//! The nearest of many shapes, found through boxes around boxes.

/// Something that has a place in space.
pub(super) trait Shape: Copy + Send + Sync {
    /// Returns its lowest and highest coordinates.
    fn bounds(&self) -> ([f64; 3], [f64; 3]);
    /// Returns its place that is nearest to a point.
    fn closest(&self, at: [f64; 3]) -> [f64; 3];
    /// Returns the square of its distance to a point.
    fn squared_distance(&self, at: [f64; 3]) -> f64 {
        let [x, y, z] = minus(self.closest(at), at);
        x * x + y * y + z * z
    }
}

impl Shape for [f64; 3] {
    fn bounds(&self) -> ([f64; 3], [f64; 3]) {
        (*self, *self)
    }

    fn closest(&self, _: [f64; 3]) -> [f64; 3] {
        *self
    }
}

/// The corners of a triangle.
pub(super) type Triangle = [[f64; 3]; 3];

impl Shape for Triangle {
    fn bounds(&self) -> ([f64; 3], [f64; 3]) {
        let [a, b, c] = self;
        let low = [0, 1, 2].map(|i| a[i].min(b[i]).min(c[i]));
        let high = [0, 1, 2].map(|i| a[i].max(b[i]).max(c[i]));
        (low, high)
    }

    /// Finds out which corner, edge or the inside is nearest by the signs of projections.
    fn closest(&self, at: [f64; 3]) -> [f64; 3] {
        let [a, b, c] = *self;
        let (ab, ac, ap) = (minus(b, a), minus(c, a), minus(at, a));
        let (d1, d2) = (dot(ab, ap), dot(ac, ap));
        if d1 <= 0.0 && d2 <= 0.0 {
            return a;
        }
        let bp = minus(at, b);
        let (d3, d4) = (dot(ab, bp), dot(ac, bp));
        if d3 >= 0.0 && d4 <= d3 {
            return b;
        }
        let cp = minus(at, c);
        let (d5, d6) = (dot(ab, cp), dot(ac, cp));
        if d6 >= 0.0 && d5 <= d6 {
            return c;
        }
        let along =
            |from: [f64; 3], edge: [f64; 3], part: f64| [0, 1, 2].map(|i| from[i] + part * edge[i]);
        let vc = d1 * d4 - d3 * d2;
        if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
            return along(a, ab, d1 / (d1 - d3));
        }
        let vb = d5 * d2 - d1 * d6;
        if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
            return along(a, ac, d2 / (d2 - d6));
        }
        let va = d3 * d6 - d5 * d4;
        if va <= 0.0 && d4 >= d3 && d5 >= d6 {
            return along(b, minus(c, b), (d4 - d3) / ((d4 - d3) + (d5 - d6)));
        }
        let sum = va + vb + vc;
        [0, 1, 2].map(|i| a[i] + vb / sum * ab[i] + vc / sum * ac[i])
    }
}

pub(super) fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// So few shapes are looked at one by one.
const LEAF: usize = 6;

/// Deeper than any tree that halves what memory holds.
const DEPTH: usize = 64;

#[derive(Clone, Copy)]
struct Node {
    low: [f64; 3],
    high: [f64; 3],
    /// The first shape of a leaf, or the first of two nodes.
    first: usize,
    /// How many shapes a leaf has; 0 for a node of nodes.
    count: usize,
}

impl Node {
    fn squared_distance(&self, at: [f64; 3]) -> f64 {
        let mut sum = 0.0;
        let mut axis = 0;
        while axis < 3 {
            let value = at[axis];
            let out = if value < self.low[axis] {
                self.low[axis] - value
            } else if value > self.high[axis] {
                value - self.high[axis]
            } else {
                0.0
            };
            sum += out * out;
            axis += 1;
        }
        sum
    }
}

/// Shapes that can be asked for the nearest one.
pub(super) struct Tree<S> {
    nodes: Vec<Node>,
    shapes: Vec<S>,
}

impl<S: Shape> Tree<S> {
    /// Takes shapes in, at least one.
    pub(super) fn of(shapes: Vec<S>) -> Self {
        let mut tree = Self {
            nodes: Vec::with_capacity(2 * shapes.len() / LEAF + 2),
            shapes,
        };
        tree.nodes.push(tree.leaf(0, tree.shapes.len()));
        let mut open = vec![0];
        while let Some(number) = open.pop() {
            let Node {
                low,
                high,
                first,
                count,
            } = tree.nodes[number];
            if count <= LEAF {
                continue;
            }
            let size = minus(high, low);
            let longest = [0, 1, 2]
                .into_iter()
                .max_by(|a, b| size[*a].total_cmp(&size[*b]))
                .unwrap_or_default();
            let middle = |shape: &S| {
                let (low, high) = shape.bounds();
                low[longest] + high[longest]
            };
            let half = count / 2;
            tree.shapes[first..first + count]
                .select_nth_unstable_by(half, |a, b| middle(a).total_cmp(&middle(b)));
            let children = tree.nodes.len();
            tree.nodes.push(tree.leaf(first, half));
            tree.nodes.push(tree.leaf(first + half, count - half));
            tree.nodes[number].first = children;
            tree.nodes[number].count = 0;
            open.extend([children, children + 1]);
        }
        tree
    }

    fn leaf(&self, first: usize, count: usize) -> Node {
        let (mut low, mut high) = ([f64::MAX; 3], [f64::MIN; 3]);
        for shape in &self.shapes[first..first + count] {
            let (shape_low, shape_high) = shape.bounds();
            for axis in 0..3 {
                low[axis] = low[axis].min(shape_low[axis]);
                high[axis] = high[axis].max(shape_high[axis]);
            }
        }
        Node {
            low,
            high,
            first,
            count,
        }
    }

    /// Returns the place nearest to a point of the shape with a number that
    /// [`Self::nearest`] gave.
    pub(super) fn closest(&self, number: usize, at: [f64; 3]) -> [f64; 3] {
        self.shapes[number].closest(at)
    }

    /// Returns the number of the nearest shape and the square of its distance. A good
    /// `guess`, the number of a shape that is near, makes it faster.
    pub(super) fn nearest(&self, at: [f64; 3], guess: usize) -> (usize, f64) {
        let mut best = (guess, self.shapes[guess].squared_distance(at));
        let mut stack = [(0, 0.0); DEPTH];
        let mut open = 1;
        while open > 0 {
            open -= 1;
            let (number, distance) = stack[open];
            if distance >= best.1 {
                continue;
            }
            let node = &self.nodes[number];
            if node.count > 0 {
                let mut at_shape = node.first;
                while at_shape < node.first + node.count {
                    let distance = self.shapes[at_shape].squared_distance(at);
                    if distance < best.1 {
                        best = (at_shape, distance);
                    }
                    at_shape += 1;
                }
                continue;
            }
            let left = self.nodes[node.first].squared_distance(at);
            let right = self.nodes[node.first + 1].squared_distance(at);
            let (near, far) = if left <= right {
                ((node.first, left), (node.first + 1, right))
            } else {
                ((node.first + 1, right), (node.first, left))
            };
            if far.1 < best.1 {
                stack[open] = far;
                open += 1;
            }
            if near.1 < best.1 {
                stack[open] = near;
                open += 1;
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between 0 and 1 that look like chance and are always the same.
    fn chance(count: usize) -> impl Iterator<Item = f64> {
        (1..=count).map(|n| (n as f64 * 0.754_877_666).fract())
    }

    fn points(count: usize) -> Vec<[f64; 3]> {
        let all: Vec<f64> = chance(count * 3).collect();
        let spread = |n: usize| [all[n], all[n + count] * 0.3, all[n + 2 * count].powi(3)];
        (0..count).map(spread).collect()
    }

    #[test]
    fn the_nearest_point_is_the_one_that_looking_at_all_finds() {
        let shapes = points(700);
        let tree = Tree::of(shapes.clone());
        for at in points(90).iter().map(|p| p.map(|v| v * 1.4 - 0.2)) {
            let all = shapes.iter().map(|shape| shape.squared_distance(at));
            let nearest = all.fold(f64::MAX, f64::min);
            assert!((tree.nearest(at, 5).1 - nearest).abs() < 1e-15);
        }
    }

    #[test]
    fn a_triangle_is_as_far_as_its_nearest_place() {
        let triangle: Triangle = [[0.0; 3], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        for (at, expected) in [
            ([0.5, 0.2, 0.3], 0.09),
            ([-3.0, -4.0, 0.0], 25.0),
            ([1.0, -2.0, 0.0], 4.0),
            ([3.0, 0.0, 1.0], 2.0),
            ([0.0, 3.0, 0.0], 4.0),
            ([-1.0, 0.5, 0.0], 1.0),
            ([1.8, 0.9, 0.0], 0.512),
        ] {
            let found = triangle.squared_distance(at);
            assert!((found - expected).abs() < 1e-12, "{at:?}: {found}");
        }
        let flat: Triangle = [[1.0, 0.0, 0.0]; 3];
        assert!((flat.squared_distance([0.0; 3]) - 1.0).abs() < 1e-12);
    }
}
