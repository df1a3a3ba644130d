//! The services that make models for money: whose key they need, and how an entry
//! of `adapters.yaml` says which pictures go where.

use serde_json::Value;

use crate::domain::algo::AlgoSettings;

/// A service that is called over the network.
#[derive(Debug, PartialEq, Eq)]
pub struct Service {
    /// The word after `kind:`, and the provider's name.
    pub kind: &'static str,
    /// How people call it.
    pub name: &'static str,
    /// The variables that hold the account's key, one set after the other: the first
    /// that is complete is used.
    pub keys: &'static [&'static [&'static str]],
    /// Where a key is made.
    pub key_page: &'static str,
    /// Whether it lists what it was asked for, so that a lost order is found again.
    pub lists_orders: bool,
    /// Whether it tells its prices when it is asked.
    pub lists_prices: bool,
    /// The variables that name another address, with the address they stand for.
    pub addresses: &'static [(&'static str, &'static str)],
}

/// Every service.
pub const SERVICES: [Service; 4] = [
    Service {
        kind: "fal",
        name: "fal",
        keys: &[&["FAL_KEY"], &["FAL_KEY_ID", "FAL_KEY_SECRET"]],
        key_page: "https://fal.ai/dashboard/keys",
        lists_orders: true,
        lists_prices: true,
        addresses: &[
            ("ARCHI3D_FAL_QUEUE_URL", "https://queue.fal.run"),
            ("ARCHI3D_FAL_REST_URL", "https://rest.fal.ai"),
            ("ARCHI3D_FAL_API_URL", "https://api.fal.ai/v1"),
        ],
    },
    Service {
        kind: "tripo",
        name: "Tripo",
        keys: &[&["TRIPO_API_KEY"]],
        key_page: "https://platform.tripo3d.ai/api-keys",
        lists_orders: false,
        lists_prices: false,
        addresses: &[("ARCHI3D_TRIPO_URL", "https://openapi.tripo3d.ai/v3")],
    },
    Service {
        kind: "meshy",
        name: "Meshy",
        keys: &[&["MESHY_API_KEY"]],
        key_page: "https://www.meshy.ai/settings/api",
        lists_orders: false,
        lists_prices: false,
        addresses: &[("ARCHI3D_MESHY_URL", "https://api.meshy.ai/openapi/v1")],
    },
    Service {
        kind: "replicate",
        name: "Replicate",
        keys: &[&["REPLICATE_API_TOKEN"]],
        key_page: "https://replicate.com/account/api-tokens",
        lists_orders: true,
        lists_prices: false,
        addresses: &[("ARCHI3D_REPLICATE_URL", "https://api.replicate.com/v1")],
    },
];

/// Returns the service of a kind.
pub fn find(kind: &str) -> Option<&'static Service> {
    SERVICES.iter().find(|service| service.kind == kind)
}

/// Returns the service that carries an entry out, if one does.
pub fn of(settings: &AlgoSettings) -> Option<&'static Service> {
    settings.kind.as_deref().and_then(find)
}

impl Service {
    /// Returns the account's key: the values of a complete set, joined by `:`.
    pub fn key(&self, env: &dyn Fn(&str) -> Option<String>) -> Option<String> {
        let value = |name: &&str| {
            let value = env(name)?.trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let mut sets = self.keys.iter();
        sets.find_map(|set| set.iter().map(value).collect::<Option<Vec<_>>>())
            .map(|values| values.join(":"))
    }

    /// Returns the variable that is to be set.
    pub fn key_name(&self) -> &'static str {
        self.keys[0][0]
    }

    /// Returns an address of the service, without a slash at its end.
    pub fn address(&self, variable: &str, env: &dyn Fn(&str) -> Option<String>) -> String {
        let usual = self.addresses.iter().find(|(name, _)| *name == variable);
        let usual = usual.map_or("", |(_, address)| *address);
        let own = env(variable).filter(|address| !address.trim().is_empty());
        let address = own.unwrap_or_else(|| usual.to_owned());
        address.trim().trim_end_matches('/').to_owned()
    }
}

/// An argument that takes pictures: `front`, `left?`, `views[]`, `views[2-5]`, `more[]?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageField {
    /// The argument.
    pub name: String,
    /// Whether its value is a list.
    pub list: bool,
    /// How many pictures it needs.
    pub least: usize,
    /// How many it takes.
    pub most: usize,
}

impl ImageField {
    /// Reads one.
    pub fn parse(text: &str) -> Option<Self> {
        let (text, optional) = match text.strip_suffix('?') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (name, list, least, most) = match text.strip_suffix(']') {
            None => (text, false, 1, 1),
            Some(rest) => {
                let (name, bounds) = rest.split_once('[')?;
                let (least, most) = match bounds.split_once('-') {
                    None if bounds.is_empty() => (1, usize::MAX),
                    None => return None,
                    Some((least, most)) => (least.parse().ok()?, most.parse().ok()?),
                };
                (name, true, least, most)
            }
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || !name.chars().all(plain) || least > most || most == 0 {
            return None;
        }
        Some(Self {
            name: name.to_owned(),
            list,
            least: if optional { 0 } else { least },
            most,
        })
    }
}

/// Returns how many billing units one generation has: a number, or a map in which
/// `base` stands for the plain one and the name of an argument for one in which it is set.
pub fn units(value: &Value, arguments: &serde_json::Map<String, Value>) -> Option<f64> {
    let Some(map) = value.as_object() else {
        return value.as_f64().filter(|units| *units > 0.0);
    };
    let is_set = |name: &String| match arguments.get(name) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(word)) => !matches!(word.as_str(), "" | "no" | "none"),
        Some(_) => true,
    };
    let numbers = map.iter().map(|(name, units)| {
        let units = units.as_f64().filter(|units| *units > 0.0)?;
        Some((name, units))
    });
    let numbers: Vec<_> = numbers.collect::<Option<_>>()?;
    let counted = numbers
        .iter()
        .filter(|(name, _)| *name == "base" || is_set(name));
    counted.map(|(_, units)| *units).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_complete_set_of_variables_is_the_key() {
        let fal = find("fal").expect("known");
        let with = |set: &'static [(&str, &str)]| {
            fal.key(&|name| {
                let found = set.iter().find(|(own, _)| *own == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(with(&[("FAL_KEY", " k \n")]).as_deref(), Some("k"));
        assert_eq!(with(&[("FAL_KEY", ""), ("FAL_KEY_ID", "a")]), None);
        let pair = with(&[("FAL_KEY_ID", "a"), ("FAL_KEY_SECRET", "b")]);
        assert_eq!(pair.as_deref(), Some("a:b"));
    }

    #[test]
    fn arguments_for_pictures_are_read() {
        let read = |text: &str| {
            ImageField::parse(text).map(|field| (field.name, field.list, field.least, field.most))
        };
        assert_eq!(read("front"), Some(("front".to_owned(), false, 1, 1)));
        assert_eq!(read("left?"), Some(("left".to_owned(), false, 0, 1)));
        assert_eq!(
            read("views[]"),
            Some(("views".to_owned(), true, 1, usize::MAX))
        );
        assert_eq!(read("views[2-5]"), Some(("views".to_owned(), true, 2, 5)));
        assert_eq!(
            read("more[]?"),
            Some(("more".to_owned(), true, 0, usize::MAX))
        );
        for text in ["", "?", "a b", "a[", "a[3]", "a[5-2]", "a[0-0]", "[]"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn units_follow_the_arguments() {
        let arguments = json!({"textured_mesh": true, "texture": "no"});
        let arguments = arguments.as_object().expect("a map");
        for (value, expected) in [
            (json!(3), Some(3.0)),
            (json!({"base": 1, "textured_mesh": 3}), Some(3.0)),
            (json!({"base": 1, "texture": 3}), Some(1.0)),
            (json!({"base": 0}), None),
            (json!("many"), None),
        ] {
            assert_eq!(units(&value, arguments), expected, "{value}");
        }
    }
}
