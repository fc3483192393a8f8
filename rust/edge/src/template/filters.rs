//! The filters of jinja2, with transformers' tojson; those of sequences are in filters_sequence.rs
//! and those of text in filters_text.rs.

use super::call::Arguments;
use super::error::{error, runtime, type_error, Kind, Outcome};
use super::filters_sequence::apply_sequence_filter;
use super::filters_text::apply_text_filter;
use super::number::{parse_float, parse_int, round, truncate};
use super::text::{repr, to_text};
use super::text_methods::to_markup;
use super::tojson::to_json;
use super::value::{Number, Value};

const NAMES: &[&str] = &[
    "abs",
    "attr",
    "batch",
    "capitalize",
    "center",
    "count",
    "d",
    "default",
    "dictsort",
    "e",
    "escape",
    "filesizeformat",
    "first",
    "float",
    "forceescape",
    "format",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "pprint",
    "random",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "string",
    "striptags",
    "sum",
    "title",
    "tojson",
    "trim",
    "truncate",
    "unique",
    "upper",
    "urlencode",
    "urlize",
    "wordcount",
    "wordwrap",
    "xmlattr",
];

pub fn is_filter(name: &str) -> bool {
    NAMES.contains(&name)
}

pub fn apply_filter(name: &str, value: &Value, arguments: &Arguments) -> Outcome<Value> {
    match name {
        "tojson" => to_json(value, arguments),
        "default" | "d" => {
            let bound = arguments.bind("default", &["default_value", "boolean"], 0)?;
            let replaced = value.is_undefined() || (bound.truth(1, false) && !value.truth());
            Ok(match bound.get(0) {
                _ if !replaced => value.clone(),
                Some(default) => default.clone(),
                None => Value::text(""),
            })
        }
        "string" => Ok(match value {
            Value::Str(_) => value.clone(),
            _ => Value::string(to_text(value)?),
        }),
        "safe" => Ok(Value::marked(to_text(value)?, true)),
        "escape" | "e" => to_markup(value),
        "forceescape" => Ok(Value::marked(super::text::escape(&to_text(value)?), true)),
        "int" => int(value, arguments),
        "float" => float(value, arguments),
        "abs" => match value.number() {
            Some(Number::Int(value)) => Ok(Value::Int(value.saturating_abs())),
            Some(Number::Float(value)) => Ok(Value::Float(value.abs())),
            None => Err(wrong("abs", value)),
        },
        "round" => round_number(value, arguments),
        "length" | "count" => match value.length() {
            Some(length) => Ok(Value::Int(length as i128)),
            None => Err(type_error(format!("object of type '{}' has no len()", value.type_name()))),
        },
        "attr" => attribute(value, arguments),
        "pprint" => Ok(Value::string(repr(value)?)),
        "random" | "urlize" | "xmlattr" | "filesizeformat" => {
            Err(error(Kind::Unsupported, format!("the filter '{name}' is not supported")))
        }
        _ => match apply_sequence_filter(name, value, arguments)? {
            Some(result) => Ok(result),
            None => match apply_text_filter(name, value, arguments)? {
                Some(result) => Ok(result),
                None => Err(runtime(format!("No filter named '{name}'."))),
            },
        },
    }
}

pub fn wrong(filter: &str, value: &Value) -> super::error::Error {
    match value {
        Value::Undefined(undefined) => runtime(undefined.message.clone()),
        _ => type_error(format!("bad operand type for {filter}: '{}'", value.type_name())),
    }
}

fn int(value: &Value, arguments: &Arguments) -> Outcome<Value> {
    let bound = arguments.bind("int", &["default", "base"], 0)?;
    let default = || bound.get(0).cloned().unwrap_or(Value::Int(0));
    match value {
        Value::Undefined(undefined) => Err(runtime(undefined.message.clone())),
        Value::Str(text) => {
            let base = u32::try_from(bound.integer(1, 10)?).unwrap_or(1);
            if let Some(value) = parse_int(&text.text, base) {
                return Ok(Value::Int(value));
            }
            match parse_float(&text.text) {
                Some(value) if value.is_finite() => Ok(Value::Int(truncate(value)?)),
                _ => Ok(default()),
            }
        }
        _ => match value.number() {
            Some(Number::Int(value)) => Ok(Value::Int(value)),
            Some(Number::Float(value)) if value.is_nan() => Ok(default()),
            Some(Number::Float(value)) => Ok(Value::Int(truncate(value)?)),
            None => Ok(default()),
        },
    }
}

fn float(value: &Value, arguments: &Arguments) -> Outcome<Value> {
    let bound = arguments.bind("float", &["default"], 0)?;
    let parsed = match value {
        Value::Undefined(undefined) => return Err(runtime(undefined.message.clone())),
        Value::Str(text) => parse_float(&text.text),
        _ => value.number().map(Number::float),
    };
    Ok(match parsed {
        Some(value) => Value::Float(value),
        None => bound.get(0).cloned().unwrap_or(Value::Float(0.0)),
    })
}

fn round_number(value: &Value, arguments: &Arguments) -> Outcome<Value> {
    let bound = arguments.bind("round", &["precision", "method"], 0)?;
    let precision = bound.integer(0, 0)?;
    let method = bound.text(1)?;
    let number = value.number().ok_or_else(|| wrong("round", value))?;
    let ceil = match method.as_deref() {
        None | Some("common") => {
            return Ok(match number {
                Number::Int(integer) if precision >= 0 => Value::Int(integer),
                Number::Int(integer) => Value::Int(round(integer as f64, precision) as i128),
                Number::Float(float) => Value::Float(round(float, precision)),
            })
        }
        Some("ceil") => true,
        Some("floor") => false,
        Some(_) => return Err(runtime("method must be common, ceil or floor")),
    };
    let precision = precision.clamp(-300, 300) as i32;
    let scale = 10f64.powi(precision);
    let scaled = number.float() * scale;
    let whole = if ceil { scaled.ceil() } else { scaled.floor() };
    Ok(Value::Float(whole / scale))
}

/// The filter attr: attributes only, never items.
fn attribute(value: &Value, arguments: &Arguments) -> Outcome<Value> {
    let name = arguments.bind("attr", &["name"], 1)?.value(0);
    let name = to_text(&name)?;
    match value {
        Value::Dict(_) => {
            let empty = Value::dict(super::value::Dict::default())?;
            let found = super::attribute::get_attribute(&empty, &name)?;
            if !found.is_undefined() {
                return super::attribute::get_attribute(value, &name);
            }
            Ok(found)
        }
        _ => super::attribute::get_attribute(value, &name),
    }
}
