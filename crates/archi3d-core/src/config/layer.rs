//! Several files laid over each other, key by key, remembering who said what.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::config::origin::Origin;

/// The effective values, with the origin of each.
#[derive(Debug, Default)]
pub(super) struct Layers {
    values: Map<String, Value>,
    origins: BTreeMap<Vec<String>, Origin>,
}

impl Layers {
    /// Lays `over` on top: its maps are merged, its other values replace.
    pub(super) fn lay(&mut self, over: &Map<String, Value>, origin: &Origin) {
        let mut path = Vec::new();
        lay(&mut self.values, over, origin, &mut path, &mut self.origins);
    }

    /// Returns the value that `keys` lead to; `null` counts as none.
    pub(super) fn get(&self, keys: &[&str]) -> Option<&Value> {
        let (first, rest) = keys.split_first()?;
        rest.iter()
            .try_fold(self.values.get(*first)?, |value, key| value.get(key))
            .filter(|value| !value.is_null())
    }

    /// Returns who said what `keys` lead to.
    pub(super) fn origin(&self, keys: &[&str]) -> Option<&Origin> {
        let path: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        self.origins.get(&path)
    }

    /// Returns the map that `keys` lead to, to be changed.
    pub(super) fn map_mut(&mut self, keys: &[&str]) -> Option<&mut Map<String, Value>> {
        keys.iter().try_fold(&mut self.values, |map, key| {
            map.get_mut(*key)?.as_object_mut()
        })
    }

    /// Sets one value.
    pub(super) fn set(&mut self, keys: &[&str], value: Value, origin: &Origin) {
        let nested = keys.iter().rev().fold(value, |inner, key| {
            Value::Object(Map::from_iter([((*key).to_owned(), inner)]))
        });
        if let Value::Object(map) = nested {
            self.lay(&map, origin);
        }
    }

    /// Calls `see` with the path, value and origin of everything that is no map.
    pub(super) fn each(&self, mut see: impl FnMut(&[String], &Value, &Origin)) {
        walk(&self.values, &mut Vec::new(), &mut |path, value| {
            if let Some(origin) = self.origins.get(path) {
                see(path, value, origin);
            }
        });
    }
}

fn lay(
    base: &mut Map<String, Value>,
    over: &Map<String, Value>,
    origin: &Origin,
    path: &mut Vec<String>,
    origins: &mut BTreeMap<Vec<String>, Origin>,
) {
    for (key, value) in over {
        path.push(key.clone());
        match (base.get_mut(key), value) {
            // A heading with nothing under it takes nothing away.
            (Some(Value::Object(_)), Value::Null) => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                lay(old, new, origin, path, origins);
            }
            (_, Value::Object(new)) => {
                let mut fresh = Map::new();
                lay(&mut fresh, new, origin, path, origins);
                base.insert(key.clone(), Value::Object(fresh));
            }
            (_, value) => {
                base.insert(key.clone(), value.clone());
                origins.insert(path.clone(), origin.clone());
            }
        }
        path.pop();
    }
}

fn walk(map: &Map<String, Value>, path: &mut Vec<String>, see: &mut dyn FnMut(&[String], &Value)) {
    for (key, value) in map {
        path.push(key.clone());
        match value {
            Value::Object(inner) => walk(inner, path, see),
            value => see(path, value),
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().expect("a map").clone()
    }

    #[test]
    fn the_upper_layer_wins_key_by_key_and_every_value_knows_its_origin() {
        let file = Origin::File("w.yaml".into());
        let mut layers = Layers::default();
        layers.lay(
            &map(json!({"a": {"x": 1, "y": [1, 2]}, "b": 1})),
            &Origin::Shipped,
        );
        layers.lay(&map(json!({"a": {"y": [3]}, "c": null})), &file);
        let mut seen = Vec::new();
        layers.each(|path, value, origin| {
            seen.push((path.join("."), value.clone(), origin.clone()));
        });
        assert_eq!(
            seen,
            [
                ("a.x".to_owned(), json!(1), Origin::Shipped),
                ("a.y".to_owned(), json!([3]), file.clone()),
                ("b".to_owned(), json!(1), Origin::Shipped),
                ("c".to_owned(), Value::Null, file),
            ]
        );
        assert_eq!(layers.get(&["a", "x"]), Some(&json!(1)));
        assert_eq!(layers.get(&["c"]), None);
    }

    #[test]
    fn null_unsets_a_value_but_not_a_whole_map() {
        let mut layers = Layers::default();
        layers.lay(&map(json!({"a": {"x": 1}, "b": 2})), &Origin::Shipped);
        layers.lay(&map(json!({"a": null, "b": null})), &Origin::Shipped);
        assert_eq!(layers.get(&["a", "x"]), Some(&json!(1)));
        assert_eq!(layers.get(&["b"]), None);
    }
}
