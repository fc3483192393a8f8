//! Python's dict: keys are equal as Python holds them equal, and keep their order.

use std::collections::hash_map::DefaultHasher;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use super::value::{Number, Value};

/// Mappings up to this size are searched in order; larger ones keep an index.
const LINEAR_SEARCH_LIMIT: usize = 12;

/// A dict: entries in the order of their insertion.
#[derive(Default, Clone)]
pub struct Dict {
    pub entries: Vec<(Value, Value)>,
    /// Positions by hash_key; empty while the dict is small.
    index: HashMap<u64, Vec<usize>>,
    deepest: u32,
    weight: u64,
}

impl Dict {
    fn find(&self, hash: impl Fn() -> u64, same: impl Fn(&Value) -> bool) -> Option<usize> {
        if self.index.is_empty() {
            return self.entries.iter().position(|(key, _)| same(key));
        }
        let mut positions = self.index.get(&hash())?.iter();
        positions.find(|&&position| same(&self.entries[position].0)).copied()
    }

    fn position(&self, key: &Value) -> Option<usize> {
        self.find(|| hash_key(key), |other| equal_scalars(other, key))
    }

    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.position(key).map(|position| &self.entries[position].1)
    }

    pub fn get_text(&self, key: &str) -> Option<&Value> {
        let same = |other: &Value| matches!(other, Value::Str(text) if &*text.text == key);
        self.find(|| hash_text(key), same).map(|position| &self.entries[position].1)
    }

    /// The key must be hashable (see check_key).
    pub fn insert(&mut self, key: Value, value: Value) {
        self.deepest = self.deepest.max(key.depth()).max(value.depth());
        self.weight = self.weight.saturating_add(key.weight()).saturating_add(value.weight());
        if let Some(position) = self.position(&key) {
            self.entries[position].1 = value;
            return;
        }
        self.entries.push((key, value));
        let known = if self.index.is_empty() { 0 } else { self.entries.len() - 1 };
        if self.entries.len() > LINEAR_SEARCH_LIMIT {
            for (position, (key, _)) in self.entries.iter().enumerate().skip(known) {
                self.index.entry(hash_key(key)).or_default().push(position);
            }
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn depth(&self) -> u32 {
        1 + self.deepest
    }

    pub fn weight(&self) -> u64 {
        self.weight.saturating_add(1)
    }
}

fn hash_text(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Equal for keys that equal_scalars holds equal.
fn hash_key(key: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match key {
        Value::Str(text) => return hash_text(&text.text),
        Value::Tuple(items) => items.items.iter().for_each(|item| hash_key(item).hash(&mut hasher)),
        _ => match key.number() {
            Some(Number::Int(value)) => value.hash(&mut hasher),
            Some(Number::Float(value)) if value.trunc() == value && value.abs() < 1.7e38 => {
                (value as i128).hash(&mut hasher);
            }
            Some(Number::Float(value)) => value.to_bits().hash(&mut hasher),
            None => {}
        },
    }
    hasher.finish()
}

/// Equality of hashable keys: numbers by value, the rest by identity of type and content.
fn equal_scalars(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tuple(x), Value::Tuple(y)) => {
            x.items.len() == y.items.len()
                && x.items.iter().zip(&y.items).all(|(p, q)| equal_scalars(p, q))
        }
        (Value::Str(x), Value::Str(y)) => x.text == y.text,
        (Value::None, Value::None) => true,
        (Value::Undefined(_), Value::Undefined(_)) => true,
        _ => match (a.number(), b.number()) {
            (Some(x), Some(y)) => x.equals(y),
            _ => false,
        },
    }
}
