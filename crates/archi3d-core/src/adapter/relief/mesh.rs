//! From heights to a closed mesh: a front, a back, and a wall along the edge.
//!
//! Pure. Y is up, the front looks to +Z, the middle of the bounding box is the
//! origin and its longest side is one metre. Every edge has exactly two
//! triangles, and every triangle turns counter-clockwise seen from outside.

use crate::adapter::relief::depth::Heights;
use crate::adapter::relief::grid::Grid;
use crate::model::number::index;
use crate::model::vector::{cross, difference, unit};

/// A closed triangle mesh with a texture position per vertex.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Mesh {
    pub(super) positions: Vec<[f32; 3]>,
    pub(super) normals: Vec<[f32; 3]>,
    /// From the left and the top of the texture, 0 to 1.
    pub(super) texture_places: Vec<[f32; 2]>,
    pub(super) triangles: Vec<[u32; 3]>,
}

/// Builds the mesh.
pub(super) fn build(grid: &Grid, heights: &Heights) -> Mesh {
    let mut builder = Builder::new(grid, heights);
    for row in 0..grid.rows - 1 {
        for column in 0..grid.columns - 1 {
            builder.add_cell(column, row);
        }
    }
    builder.add_back();
    if grid.is_plate {
        builder.add_sharp_wall();
    } else {
        builder.add_round_wall();
    }
    let mut mesh = builder.mesh;
    fit(&mut mesh.positions);
    mesh.normals = normals(&mesh);
    mesh
}

const NOT_YET: u32 = u32::MAX;

struct Builder<'a> {
    grid: &'a Grid,
    heights: &'a Heights,
    /// The vertex at each point, on the way to its right, and on the way down.
    at_point: Vec<u32>,
    to_right: Vec<u32>,
    to_below: Vec<u32>,
    /// How far behind the middle plane each front vertex has its twin.
    back: Vec<f32>,
    /// Edges of the front that have a triangle on their left only.
    rim: Vec<(u32, u32)>,
    mesh: Mesh,
}

impl<'a> Builder<'a> {
    fn new(grid: &'a Grid, heights: &'a Heights) -> Self {
        let none = || vec![NOT_YET; grid.coverage.len()];
        Self {
            grid,
            heights,
            at_point: none(),
            to_right: none(),
            to_below: none(),
            back: Vec::new(),
            rim: Vec::new(),
            mesh: Mesh::default(),
        }
    }

    /// Adds the part of one cell that is inside, as a convex polygon.
    fn add_cell(&mut self, column: usize, row: usize) {
        let top_left = row * self.grid.columns + column;
        let below = top_left + self.grid.columns;
        // Counter-clockwise with Y up: down the left side, along the bottom, up, back.
        let corners = [top_left, below, below + 1, top_left + 1];
        let at_frame = [
            column == 0,
            row + 2 == self.grid.rows,
            column + 2 == self.grid.columns,
            row == 0,
        ];
        let mut polygon = [(NOT_YET, false); 8];
        let mut length = 0;
        for side in 0..4 {
            let (from, to) = (corners[side], corners[(side + 1) % 4]);
            let (starts, ends) = (self.grid.is_inside(from), self.grid.is_inside(to));
            if starts {
                polygon[length] = (self.point(from), at_frame[side]);
                length += 1;
            }
            if starts != ends {
                // Leaving the object, the polygon goes on along its edge.
                polygon[length] = (self.edge_point(from, to), starts || at_frame[side]);
                length += 1;
            }
        }
        self.add_polygon(&polygon[..length]);
    }

    /// Adds triangles and notes the sides that nothing lies beyond.
    fn add_polygon(&mut self, polygon: &[(u32, bool)]) {
        for (at, (from, is_rim)) in polygon.iter().enumerate() {
            if *is_rim {
                let (to, _) = polygon[(at + 1) % polygon.len()];
                self.rim.push((*from, to));
            }
        }
        let corner = |at: usize| polygon[at % polygon.len()].0;
        // Quads are split where the surface bends less.
        let height = |at: usize| self.mesh.positions[corner(at) as usize][2];
        let turned =
            polygon.len() == 4 && (height(0) - height(2)).abs() > (height(1) - height(3)).abs();
        let first = usize::from(turned);
        for at in 1..polygon.len().saturating_sub(1) {
            let triangle = [corner(first), corner(first + at), corner(first + at + 1)];
            self.mesh.triangles.push(triangle);
        }
    }

    fn point(&mut self, point: usize) -> u32 {
        if self.at_point[point] == NOT_YET {
            let place = (
                (point % self.grid.columns) as f32,
                (point / self.grid.columns) as f32,
            );
            let (front, back) = (self.heights.front[point], self.heights.back[point]);
            self.at_point[point] = self.add_vertex(place, front, back);
        }
        self.at_point[point]
    }

    /// Returns the vertex where the edge of the object crosses the way between two neighbours.
    fn edge_point(&mut self, from: usize, to: usize) -> u32 {
        let (low, high) = (from.min(to), from.max(to));
        let is_right = high == low + 1;
        let known = if is_right {
            self.to_right[low]
        } else {
            self.to_below[low]
        };
        if known != NOT_YET {
            return known;
        }
        let share = self.grid.crossing(low, high);
        let (column, row) = (low % self.grid.columns, low / self.grid.columns);
        let place = if is_right {
            (column as f32 + share, row as f32)
        } else {
            (column as f32, row as f32 + share)
        };
        let vertex = self.add_vertex(place, self.heights.rim, self.heights.rim);
        if is_right {
            self.to_right[low] = vertex;
        } else {
            self.to_below[low] = vertex;
        }
        vertex
    }

    fn add_vertex(&mut self, (column, row): (f32, f32), front: f32, back: f32) -> u32 {
        let vertex = index(self.mesh.positions.len());
        let (across, down) = self.grid.step;
        let position = [column * across, -row * down, front];
        self.mesh.positions.push(position);
        self.mesh.texture_places.push([
            column / (self.grid.columns - 1) as f32,
            row / (self.grid.rows - 1) as f32,
        ]);
        self.back.push(back);
        vertex
    }

    /// Adds the twin of every front vertex and of every front triangle, turned round.
    fn add_back(&mut self) {
        let count = index(self.mesh.positions.len());
        for (vertex, back) in self.back.iter().enumerate() {
            let [x, y, _] = self.mesh.positions[vertex];
            self.mesh.positions.push([x, y, -back]);
        }
        self.mesh.texture_places.extend_from_within(..);
        let turned: Vec<[u32; 3]> = self
            .mesh
            .triangles
            .iter()
            .map(|[a, b, c]| [a + count, c + count, b + count])
            .collect();
        self.mesh.triangles.extend(turned);
    }

    /// Joins front and back with the vertices they have, so that light runs around the rim.
    fn add_round_wall(&mut self) {
        let twin = index(self.back.len());
        for (from, to) in &self.rim {
            self.mesh.triangles.push([*to, *from, from + twin]);
            self.mesh.triangles.push([*to, from + twin, to + twin]);
        }
    }

    /// Joins front and back with vertices of its own, so that the plate has sharp edges.
    fn add_sharp_wall(&mut self) {
        let twin = index(self.back.len());
        for (from, to) in &self.rim {
            let first = index(self.mesh.positions.len());
            for corner in [*to, *from, from + twin, to + twin] {
                let position = self.mesh.positions[corner as usize];
                let place = self.mesh.texture_places[corner as usize];
                self.mesh.positions.push(position);
                self.mesh.texture_places.push(place);
            }
            self.mesh.triangles.push([first, first + 1, first + 2]);
            self.mesh.triangles.push([first, first + 2, first + 3]);
        }
    }
}

/// Returns the lowest and the highest coordinates.
pub(super) fn bounds(positions: &[[f32; 3]]) -> ([f32; 3], [f32; 3]) {
    let start = ([f32::MAX; 3], [f32::MIN; 3]);
    positions.iter().fold(start, |(low, high), position| {
        let axis = [0, 1, 2];
        (
            axis.map(|i| low[i].min(position[i])),
            axis.map(|i| high[i].max(position[i])),
        )
    })
}

/// Moves the middle to the origin and makes the longest side one metre.
fn fit(positions: &mut [[f32; 3]]) {
    let (low, high) = bounds(positions);
    let long = (0..3)
        .map(|i| high[i] - low[i])
        .fold(f32::MIN_POSITIVE, f32::max);
    for position in positions {
        for (i, value) in position.iter_mut().enumerate() {
            *value = (*value - f32::midpoint(low[i], high[i])) / long;
        }
    }
}

/// Returns the mean direction of the triangles around each vertex, larger ones counting more.
fn normals(mesh: &Mesh) -> Vec<[f32; 3]> {
    let mut sums = vec![[0.0_f32; 3]; mesh.positions.len()];
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|vertex| mesh.positions[vertex as usize]);
        let direction = cross(difference(b, a), difference(c, a));
        for vertex in triangle {
            for (sum, part) in sums[*vertex as usize].iter_mut().zip(direction) {
                *sum += part;
            }
        }
    }
    sums.into_iter().map(unit).collect()
}
