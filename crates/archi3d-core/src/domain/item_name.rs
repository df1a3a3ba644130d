//! Which product a person means: `PRODUCT` or `PRODUCT:VARIANT`.
//!
//! PURE: text comes in and says which products it matches.

/// A product as a person names it, with or without its variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemName(String);

/// A name that names nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the item is empty; write a product id, such as 335888 or 335888:oak")]
pub struct EmptyItem;

impl ItemName {
    /// Reads what was typed.
    pub fn parse(text: &str) -> Result<Self, EmptyItem> {
        let text = text.trim();
        if text.is_empty() {
            return Err(EmptyItem);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns it as it was typed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether this product, in this variant, is meant; case does not matter.
    pub fn matches(&self, product: &str, variant: &str) -> bool {
        let text = self.0.to_lowercase();
        let (product, variant) = (product.to_lowercase(), variant.to_lowercase());
        // A product's own id may have a colon in it.
        let rest = text.strip_prefix(&product);
        match rest {
            Some("") => true,
            Some(rest) => rest.strip_prefix(':') == Some(variant.trim()),
            None => false,
        }
    }
}

/// Tells whether this product is one of those named; where none is named, all are meant.
pub fn any_matches(names: &[ItemName], product: &str, variant: &str) -> bool {
    names.is_empty() || names.iter().any(|name| name.matches(product, variant))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_meant_with_all_its_variants_or_with_one() {
        let all = ItemName::parse("335888").expect("valid");
        assert!(all.matches("335888", "oak") && all.matches("335888", ""));
        assert!(!all.matches("3358889", "oak") && !all.matches("33588", "8"));
        let one = ItemName::parse("335888:Oak").expect("valid");
        assert!(one.matches("335888", "oak"));
        assert!(!one.matches("335888", "oak, dark") && !one.matches("335888", ""));
        let colon = ItemName::parse("a:b").expect("valid");
        assert!(colon.matches("a:b", "x") && colon.matches("a", "b"));
        assert_eq!(ItemName::parse(" "), Err(EmptyItem));
    }
}
