//! The tests of jinja2: `value is name`.

use super::ast::Comparison;
use super::call::Arguments;
use super::error::{runtime, type_error, Outcome};
use super::filters::is_filter;
use super::operators::{compare, identical};
use super::value::{Number, Value};

const NAMES: &[&str] = &[
    "!=",
    "<",
    "<=",
    "==",
    ">",
    ">=",
    "boolean",
    "callable",
    "defined",
    "divisibleby",
    "eq",
    "equalto",
    "escaped",
    "even",
    "false",
    "filter",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sameas",
    "sequence",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
];

pub fn is_predicate(name: &str) -> bool {
    NAMES.contains(&name)
}

fn comparison(name: &str) -> Option<Comparison> {
    Some(match name {
        "==" | "eq" | "equalto" => Comparison::Eq,
        "!=" | "ne" => Comparison::Ne,
        "<" | "lt" | "lessthan" => Comparison::Lt,
        "<=" | "le" => Comparison::Le,
        ">" | "gt" | "greaterthan" => Comparison::Gt,
        ">=" | "ge" => Comparison::Ge,
        "in" => Comparison::In,
        _ => return None,
    })
}

fn remainder(value: &Value, divisor: i128) -> Outcome<f64> {
    match value.number() {
        _ if divisor == 0 => Err(runtime("integer division or modulo by zero")),
        Some(Number::Int(value)) => Ok(value.rem_euclid(divisor) as f64),
        Some(Number::Float(value)) => Ok(value.rem_euclid(divisor as f64)),
        None => Err(type_error(format!(
            "unsupported operand type(s) for %: '{}' and 'int'",
            value.type_name()
        ))),
    }
}

pub fn apply_predicate(name: &str, value: &Value, arguments: &Arguments) -> Outcome<bool> {
    if let Some(operator) = comparison(name) {
        let other = arguments.bind_positional("test", 1, 1)?.value(0);
        return compare(operator, value, &other);
    }
    match name {
        "sameas" => {
            return Ok(identical(value, &arguments.bind("sameas", &["other"], 1)?.value(0)))
        }
        "divisibleby" => {
            let divisor = arguments.bind("divisibleby", &["num"], 1)?.integer(0, 1)?;
            return Ok(remainder(value, divisor)? == 0.0);
        }
        _ => {
            arguments.bind_positional("test", 0, 0)?;
        }
    }
    Ok(match name {
        "boolean" => matches!(value, Value::Bool(_)),
        "callable" => matches!(
            value,
            Value::Undefined(_)
                | Value::Macro(_)
                | Value::Method(_)
                | Value::Function(_)
                | Value::Loop(_)
                | Value::Joiner(_)
        ),
        "defined" => !value.is_undefined(),
        "undefined" => value.is_undefined(),
        "escaped" => matches!(value, Value::Str(text) if text.markup),
        "even" => remainder(value, 2)? == 0.0,
        "odd" => remainder(value, 2)? == 1.0,
        "true" => matches!(value, Value::Bool(true)),
        "false" => matches!(value, Value::Bool(false)),
        "none" => matches!(value, Value::None),
        "float" => matches!(value, Value::Float(_)),
        "integer" => matches!(value, Value::Int(_)),
        "number" => value.number().is_some(),
        "string" => matches!(value, Value::Str(_)),
        "mapping" => matches!(value, Value::Dict(_)),
        "sequence" => matches!(
            value,
            Value::Undefined(_)
                | Value::Str(_)
                | Value::List(_)
                | Value::Tuple(_)
                | Value::Dict(_)
                | Value::Range(_)
        ),
        "iterable" => value.iterable(),
        "lower" | "upper" => {
            let text = super::text::to_text(value)?;
            let cased = text.chars().any(|c| c.is_lowercase() || c.is_uppercase());
            let other: fn(char) -> bool =
                if name == "lower" { char::is_uppercase } else { char::is_lowercase };
            cased && !text.chars().any(other)
        }
        "filter" | "test" if value.check_key().is_err() => {
            value.check_key()?;
            false
        }
        "filter" => matches!(value, Value::Str(text) if is_filter(&text.text)),
        "test" => matches!(value, Value::Str(text) if is_predicate(&text.text)),
        _ => return Err(runtime(format!("No test named '{name}'."))),
    })
}
