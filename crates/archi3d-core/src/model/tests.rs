//! Small models made by hand, and what their pictures show.

use image::{ImageFormat, Rgba, RgbaImage};
use serde_json::{Value, json};

use super::*;

const FRONT: View = PREVIEW_VIEWS[0];

/// Puts a description and its binary into one file.
fn glb(document: &Value, binary: &[u8]) -> Vec<u8> {
    let mut text = document.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let word = |value: usize| u32::try_from(value).expect("small").to_le_bytes();
    let mut file = b"glTF\x02\0\0\0".to_vec();
    file.extend(word(28 + text.len() + binary.len()));
    file.extend(word(text.len()));
    file.extend(b"JSON");
    file.extend(&text);
    file.extend(word(binary.len()));
    file.extend(b"BIN\0");
    file.extend(binary);
    file
}

/// A square of two triangles that looks at the camera, one metre wide; `change` spoils or
/// extends its description.
fn square(change: impl FnOnce(&mut Value, &mut Vec<u8>)) -> Vec<u8> {
    let corners: [[f32; 3]; 4] = [
        [-0.5, -0.5, 0.0],
        [0.5, -0.5, 0.0],
        [0.5, 0.5, 0.0],
        [-0.5, 0.5, 0.0],
    ];
    let places: [[f32; 2]; 4] = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]];
    let mut binary: Vec<u8> = corners
        .iter()
        .flatten()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    binary.extend(places.iter().flatten().flat_map(|v| v.to_le_bytes()));
    binary.extend([0_u16, 1, 2, 0, 2, 3].iter().flat_map(|v| v.to_le_bytes()));
    let mut document = json!({
        "asset": {"version": "2.0"},
        "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{
            "attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
        "materials": [{}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC2"},
            {"bufferView": 2, "componentType": 5123, "count": 6, "type": "SCALAR"}],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 32},
            {"buffer": 0, "byteOffset": 80, "byteLength": 12}],
        "buffers": [{"byteLength": 92}],
    });
    change(&mut document, &mut binary);
    glb(&document, &binary)
}

fn picture(file: &[u8]) -> image::RgbImage {
    draw(&read(file).expect("a model"), FRONT, 64, Fit::View)
}

/// Tells which colour rules in the middle of a quarter of the picture.
fn hue(picture: &image::RgbImage, x: u32, y: u32) -> &'static str {
    let [red, green, blue] = picture.get_pixel(x, y).0;
    let high = |value: u8| value > 120;
    match [red, green, blue].map(high) {
        [true, false, false] => "red",
        [false, true, false] => "green",
        [false, false, true] => "blue",
        [true, true, true] => "light",
        _ => "other",
    }
}

/// Adds a texture of four quarters: red and green above, blue and white below.
fn add_texture(document: &mut Value, binary: &mut Vec<u8>, format: ImageFormat) {
    let colours = [
        [255, 0, 0, 255],
        [0, 255, 0, 255],
        [0, 0, 255, 255],
        [255, 255, 255, 255],
    ];
    let quarters = RgbaImage::from_fn(64, 64, |x, y| {
        Rgba(colours[usize::from(x >= 32) + 2 * usize::from(y >= 32)])
    });
    let mut file = std::io::Cursor::new(Vec::new());
    quarters.write_to(&mut file, format).expect("encoded");
    let at = binary.len();
    binary.extend(file.get_ref());
    let length = binary.len() - at;
    document["bufferViews"]
        .as_array_mut()
        .expect("views")
        .push(json!({"buffer": 0, "byteOffset": at, "byteLength": length}));
    document["images"] = json!([{"bufferView": 3, "mimeType": "image/png"}]);
    document["textures"] = json!([{"source": 0}]);
    document["materials"][0]["pbrMetallicRoughness"] = json!({"baseColorTexture": {"index": 0}});
}

#[test]
fn a_texture_is_drawn_the_right_way_up() {
    let drawn = picture(&square(|document, binary| {
        add_texture(document, binary, ImageFormat::Png);
    }));
    assert_eq!(hue(&drawn, 16, 16), "red");
    assert_eq!(hue(&drawn, 48, 16), "green");
    assert_eq!(hue(&drawn, 16, 48), "blue");
    assert_eq!(hue(&drawn, 48, 48), "light");
    let margin = drawn.get_pixel(1, 1).0.map(f32::from);
    assert!(
        margin
            .iter()
            .zip(backdrop(1, 1, 64))
            .all(|(a, b)| (a - b).abs() < 1.0)
    );
}

#[test]
fn a_webp_texture_by_extension_is_drawn() {
    let drawn = picture(&square(|document, binary| {
        add_texture(document, binary, ImageFormat::WebP);
        document["textures"] = json!([{"extensions": {"EXT_texture_webp": {"source": 0}}}]);
        document["extensionsRequired"] = json!(["EXT_texture_webp"]);
    }));
    assert_eq!(hue(&drawn, 16, 16), "red");
}

#[test]
fn a_texture_transform_moves_the_picture() {
    let drawn = picture(&square(|document, binary| {
        add_texture(document, binary, ImageFormat::Png);
        let used = &mut document["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"];
        used["extensions"] = json!({"KHR_texture_transform": {"offset": [0.5, 0.0]}});
    }));
    assert_eq!((hue(&drawn, 16, 16), hue(&drawn, 48, 16)), ("green", "red"));
}

#[test]
fn colours_of_material_and_vertices_multiply() {
    let drawn = picture(&square(|document, binary| {
        let at = binary.len();
        binary.extend([255_u8, 0, 0, 255].repeat(4));
        document["bufferViews"]
            .as_array_mut()
            .expect("views")
            .push(json!({"buffer": 0, "byteOffset": at, "byteLength": 16}));
        document["accessors"].as_array_mut().expect("accessors").push(json!({
            "bufferView": 3, "componentType": 5121, "normalized": true, "count": 4, "type": "VEC4"}));
        document["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"] = json!(3);
        document["materials"][0]["pbrMetallicRoughness"] =
            json!({"baseColorFactor": [1.0, 1.0, 0.0, 1.0]});
    }));
    assert_eq!(hue(&drawn, 32, 32), "red");
}

#[test]
fn a_masked_surface_has_holes() {
    let drawn = picture(&square(|document, _| {
        document["materials"][0] = json!({"alphaMode": "MASK",
            "pbrMetallicRoughness": {"baseColorFactor": [0.0, 0.0, 0.0, 0.2]}});
    }));
    assert_eq!(hue(&drawn, 32, 32), "light", "the background shows");
}

#[test]
fn quantised_positions_and_node_transforms_give_the_same_picture() {
    let plain = picture(&square(|_, _| {}));
    let quantised = picture(&square(|document, binary| {
        let at = binary.len();
        for corner in [[-100_i16, -100], [100, -100], [100, 100], [-100, 100]] {
            binary.extend(
                [corner[0], corner[1], 0, 0]
                    .iter()
                    .flat_map(|v| v.to_le_bytes()),
            );
        }
        document["bufferViews"]
            .as_array_mut()
            .expect("views")
            .push(json!({"buffer": 0, "byteOffset": at, "byteLength": 32, "byteStride": 8}));
        document["accessors"][0] =
            json!({"bufferView": 3, "componentType": 5122, "count": 4, "type": "VEC3"});
        document["extensionsRequired"] = json!(["KHR_mesh_quantization"]);
        // Turned once around, moved and scaled: the picture is fitted anew.
        document["nodes"] = json!([
            {"children": [1], "rotation": [0.0, 0.0, 1.0, 0.0]},
            {"mesh": 0, "scale": [0.01, 0.01, 0.01], "translation": [7.0, 2.0, 0.0]}]);
    }));
    let close = plain
        .pixels()
        .zip(quantised.pixels())
        .all(|(a, b)| a.0.iter().zip(b.0).all(|(a, b)| a.abs_diff(b) < 3));
    assert!(close);
}

#[test]
fn sparse_corners_and_strips_are_read() {
    let file = square(|document, binary| {
        let at = binary.len();
        binary.extend([3_u8, 0, 0, 0]);
        binary.extend([9.0_f32, 8.0, 7.0].iter().flat_map(|v| v.to_le_bytes()));
        let views = document["bufferViews"].as_array_mut().expect("views");
        views.push(json!({"buffer": 0, "byteOffset": at, "byteLength": 1}));
        views.push(json!({"buffer": 0, "byteOffset": at + 4, "byteLength": 12}));
        document["accessors"][0]["sparse"] = json!({"count": 1,
            "indices": {"bufferView": 3, "componentType": 5121}, "values": {"bufferView": 4}});
        let primitive = &mut document["meshes"][0]["primitives"][0];
        primitive.as_object_mut().expect("object").remove("indices");
        primitive["mode"] = json!(5);
    });
    let model = read(&file).expect("a model");
    assert!(model.parts[0].positions[3][0] > 8.9);
    assert_eq!(model.parts[0].triangles, [[0, 1, 2], [2, 1, 3]]);
    assert_eq!((model.triangles(), model.vertices()), (2, 4));
}

#[test]
fn what_cannot_be_shown_is_named() {
    let reason = |change: &dyn Fn(&mut Value)| {
        read(&square(|document, _| change(document)))
            .expect_err("refused")
            .to_string()
    };
    let primitive = |document: &mut Value, key: &str, value: Value| {
        document["meshes"][0]["primitives"][0][key] = value;
    };
    let draco = reason(&|d| primitive(d, "extensions", json!({"KHR_draco_mesh_compression": {}})));
    assert!(draco.contains("Draco"), "{draco}");
    let meshopt = reason(&|d| d["extensionsRequired"] = json!(["EXT_meshopt_compression"]));
    assert!(meshopt.contains("meshopt"), "{meshopt}");
    assert!(reason(&|d| d["extensionsRequired"] = json!(["VENDOR_x"])).contains("VENDOR_x"));
    assert!(reason(&|d| d["buffers"][0]["uri"] = json!("far.bin")).contains("another file"));
    assert!(reason(&|d| d["bufferViews"][0]["byteLength"] = json!(4_000)).contains("damaged"));
    assert!(reason(&|d| d["accessors"][0]["count"] = json!(5)).contains("damaged"));
    assert!(reason(&|d| d["accessors"][0]["count"] = json!(3)).contains("vertex"));
    assert!(reason(&|d| d["accessors"][2]["byteOffset"] = json!(usize::MAX)).contains("damaged"));
    assert!(reason(&|d| d["nodes"][0]["children"] = json!([0, 0])).contains("nested"));
    assert!(reason(&|d| d["nodes"] = json!([])).contains("no node 0"));
    assert!(reason(&|d| primitive(d, "mode", json!(1))).contains("no triangle"));
}

#[test]
fn a_texture_that_cannot_be_decoded_leaves_the_rest() {
    let file = square(|document, binary| {
        add_texture(document, binary, ImageFormat::Png);
        document["images"] = json!([{"bufferView": 2, "mimeType": "image/png"}]);
    });
    let model = read(&file).expect("a model");
    assert!(
        model.notes[0].contains("texture 0 is not shown"),
        "{:?}",
        model.notes
    );
    let ktx = square(|document, binary| {
        add_texture(document, binary, ImageFormat::Png);
        document["textures"] = json!([{"extensions": {"KHR_texture_basisu": {"source": 0}}}]);
    });
    assert!(read(&ktx).expect("a model").notes[0].contains("KTX2"));
    assert!(read_shape(&ktx).expect("a model").notes.is_empty());
}

#[test]
fn both_sides_of_a_surface_are_lit() {
    let file = square(|_, _| {});
    let model = read(&file).expect("a model");
    let behind = View {
        around: 180.0,
        above: 0.0,
    };
    let middle = draw(&model, behind, 64, Fit::AllRound).get_pixel(32, 32).0;
    assert!(middle.iter().all(|value| *value > 150), "{middle:?}");
}

#[test]
fn cut_files_never_panic() {
    let whole = square(|document, binary| add_texture(document, binary, ImageFormat::Png));
    for end in 0..whole.len() {
        let mut cut = whole[..end].to_vec();
        if end >= 12 {
            let length = u32::try_from(end).expect("small").to_le_bytes();
            cut[8..12].copy_from_slice(&length);
        }
        let _ = read(&cut);
    }
    for at in 20..whole.len() {
        let mut spoilt = whole.clone();
        spoilt[at] = spoilt[at].wrapping_add(13);
        if let Ok(model) = read(&spoilt) {
            draw(&model, FRONT, 8, Fit::AllRound);
        }
    }
}
