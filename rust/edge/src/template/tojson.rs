//! The filter tojson of transformers: Python's json.dumps.

use std::fmt::Write;

use super::call::Arguments;
use super::error::{runtime, type_error, Outcome};
use super::filters_sequence::sorted;
use super::text::{check_length, float_text};
use super::value::{Dict, Value};

struct Writer {
    out: String,
    ensure_ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
}

pub fn to_json(value: &Value, arguments: &Arguments) -> Outcome<Value> {
    let parameters = ["ensure_ascii", "indent", "separators", "sort_keys"];
    let bound = arguments.bind("tojson", &parameters, 0)?;
    let indent = match bound.get_some(1) {
        None => None,
        Some(Value::Str(text)) => Some(text.text.to_string()),
        Some(_) => {
            let width = usize::try_from(bound.integer(1, 0)?.max(0)).unwrap_or(usize::MAX);
            check_length(width)?;
            Some(" ".repeat(width))
        }
    };
    let mut separators =
        vec![if indent.is_some() { "," } else { ", " }.to_string(), ": ".to_string()];
    if let Some(given) = bound.get_some(2) {
        let given = given.iterate()?;
        if given.len() != 2 {
            return Err(runtime("separators must be a pair"));
        }
        for (separator, value) in separators.iter_mut().zip(&given) {
            match value {
                Value::Str(text) => *separator = text.text.to_string(),
                _ => return Err(type_error("a separator must be a str")),
            }
        }
    }
    let mut writer = Writer {
        out: String::new(),
        ensure_ascii: bound.truth(0, false),
        indent,
        key_separator: separators.pop().unwrap_or_default(),
        item_separator: separators.pop().unwrap_or_default(),
        sort_keys: bound.truth(3, false),
    };
    writer.write(value, 0)?;
    Ok(Value::string(writer.out))
}

impl Writer {
    fn write(&mut self, value: &Value, level: usize) -> Outcome<()> {
        check_length(self.out.len())?;
        match value {
            Value::None => self.out.push_str("null"),
            Value::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Value::Int(value) => {
                let _ = write!(self.out, "{value}");
            }
            Value::Float(value) => self.out.push_str(&float(*value)),
            Value::Str(text) => self.string(&text.text),
            Value::List(items) | Value::Tuple(items) => self.list(&items.items, level)?,
            Value::Dict(dict) => self.dict(dict, level)?,
            other => {
                return Err(type_error(format!(
                    "Object of type {} is not JSON serializable",
                    other.type_name()
                )))
            }
        }
        Ok(())
    }

    fn new_line(&mut self, level: usize) -> Outcome<()> {
        if let Some(indent) = &self.indent {
            check_length(self.out.len().saturating_add(indent.len().saturating_mul(level)))?;
            self.out.push('\n');
            for _ in 0..level {
                self.out.push_str(indent);
            }
        }
        Ok(())
    }

    fn list(&mut self, items: &[Value], level: usize) -> Outcome<()> {
        if items.is_empty() {
            self.out.push_str("[]");
            return Ok(());
        }
        self.out.push('[');
        for (position, item) in items.iter().enumerate() {
            if position > 0 {
                self.out.push_str(&self.item_separator);
            }
            self.new_line(level + 1)?;
            self.write(item, level + 1)?;
        }
        self.new_line(level)?;
        self.out.push(']');
        Ok(())
    }

    fn dict(&mut self, dict: &Dict, level: usize) -> Outcome<()> {
        if dict.len() == 0 {
            self.out.push_str("{}");
            return Ok(());
        }
        let sorted_entries;
        let entries: Vec<(&Value, &Value)> = if self.sort_keys {
            let keys = dict.entries.iter().map(|(key, _)| key.clone()).collect();
            sorted_entries = sorted(keys, |key| Ok(key.clone()), false)?;
            sorted_entries.iter().filter_map(|key| Some((key, dict.get(key)?))).collect()
        } else {
            dict.entries.iter().map(|(key, value)| (key, value)).collect()
        };
        self.out.push('{');
        for (position, (key, value)) in entries.into_iter().enumerate() {
            if position > 0 {
                self.out.push_str(&self.item_separator);
            }
            self.new_line(level + 1)?;
            self.key(key)?;
            self.out.push_str(&self.key_separator);
            self.write(value, level + 1)?;
        }
        self.new_line(level)?;
        self.out.push('}');
        Ok(())
    }

    fn key(&mut self, key: &Value) -> Outcome<()> {
        let text = match key {
            Value::Str(text) => {
                self.string(&text.text);
                return Ok(());
            }
            Value::None => "null".to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => float(*value),
            other => {
                return Err(type_error(format!(
                    "keys must be str, int, float, bool or None, not {}",
                    other.type_name()
                )))
            }
        };
        self.string(&text);
        Ok(())
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                c if c < ' ' || (self.ensure_ascii && !c.is_ascii()) => {
                    let mut units = [0u16; 2];
                    for unit in c.encode_utf16(&mut units) {
                        let _ = write!(self.out, "\\u{unit:04x}");
                    }
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}

fn float(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_string()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_string()
    } else {
        float_text(value)
    }
}
