//! Vectors in space.

/// Returns the vector from `b` to `a`.
pub(crate) fn difference(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Returns the vector at right angles to both, as long as the area between them.
pub(crate) fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// Returns the scalar product.
pub(crate) fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the vector with length 1; one without length points to +Z.
pub(crate) fn unit(vector: [f32; 3]) -> [f32; 3] {
    // Tiny triangles: scale up before squaring, or the square is lost.
    let largest = vector
        .iter()
        .fold(0.0_f32, |most, value| most.max(value.abs()));
    if largest < f32::MIN_POSITIVE {
        return [0.0, 0.0, 1.0];
    }
    let scaled = vector.map(|value| value / largest);
    let length = dot(scaled, scaled).sqrt();
    scaled.map(|value| value / length)
}
