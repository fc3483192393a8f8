//! Python's operators on values.

use std::cmp::Ordering;

use super::ast::{Binary, Comparison};
use super::error::{limit, runtime, type_error, Error, Outcome};
use super::percent::format_percent;
use super::text::{check_length, escaped};
use super::value::{Dict, Number, Text, Value, ViewKind};

/// Elements of two values that one comparison may look at.
const COMPARISON_STEPS: usize = 20_000_000;
/// Elements of one list.
pub const LIST_LIMIT: usize = 4 << 20;

pub fn check_items(count: usize) -> Outcome<()> {
    if count > LIST_LIMIT {
        return Err(limit(format!("a list of more than {LIST_LIMIT} items")));
    }
    Ok(())
}

fn unsupported(symbol: &str, a: &Value, b: &Value) -> Error {
    for value in [a, b] {
        if let Value::Undefined(undefined) = value {
            return runtime(undefined.message.clone());
        }
    }
    let (a, b) = (a.type_name(), b.type_name());
    type_error(format!("unsupported operand type(s) for {symbol}: '{a}' and '{b}'"))
}

fn overflow() -> Error {
    limit("an integer of more than 127 bits")
}

pub fn binary(operator: Binary, a: &Value, b: &Value) -> Outcome<Value> {
    if a.is_undefined() || b.is_undefined() {
        let percent = operator == Binary::Mod && matches!(a, Value::Str(_));
        if !percent {
            return Err(unsupported("+", a, b));
        }
    }
    match operator {
        Binary::Add => add(a, b),
        Binary::Mul => multiply(a, b),
        Binary::Mod => match a {
            Value::Str(text) => format_percent(text, b),
            _ => modulo(a, b),
        },
        Binary::Sub => match (a, b) {
            (Value::View(..), Value::View(..)) => Err(limit("set operations on dict views")),
            _ => arithmetic("-", a, b, i128::checked_sub, |x, y| x - y),
        },
        Binary::Div => divide(a, b),
        Binary::FloorDiv => floor_divide(a, b),
        Binary::Pow => power(a, b),
    }
}

fn arithmetic(
    symbol: &str,
    a: &Value,
    b: &Value,
    integers: fn(i128, i128) -> Option<i128>,
    floats: fn(f64, f64) -> f64,
) -> Outcome<Value> {
    match (a.number(), b.number()) {
        (Some(Number::Int(x)), Some(Number::Int(y))) => {
            integers(x, y).map(Value::Int).ok_or_else(overflow)
        }
        (Some(x), Some(y)) => Ok(Value::Float(floats(x.float(), y.float()))),
        _ => Err(unsupported(symbol, a, b)),
    }
}

fn add(a: &Value, b: &Value) -> Outcome<Value> {
    match (a, b) {
        (Value::Str(x), Value::Str(y)) => {
            check_length(x.text.len() + y.text.len())?;
            if x.markup || y.markup {
                return Ok(Value::marked(escaped(a)? + &escaped(b)?, true));
            }
            let mut joined = String::with_capacity(x.text.len() + y.text.len());
            joined.push_str(&x.text);
            joined.push_str(&y.text);
            Ok(Value::string(joined))
        }
        (Value::List(x), Value::List(y)) | (Value::Tuple(x), Value::Tuple(y)) => {
            check_items(x.items.len() + y.items.len())?;
            let joined = x.items.iter().chain(&y.items).cloned().collect();
            if matches!(a, Value::List(_)) {
                Value::list(joined)
            } else {
                Value::tuple(joined)
            }
        }
        (Value::Str(_), _) => {
            Err(type_error(format!("can only concatenate str (not \"{}\") to str", b.type_name())))
        }
        (Value::List(_), _) => Err(type_error(format!(
            "can only concatenate list (not \"{}\") to list",
            b.type_name()
        ))),
        _ => arithmetic("+", a, b, i128::checked_add, |x, y| x + y),
    }
}

fn multiply(a: &Value, b: &Value) -> Outcome<Value> {
    let repeated = match (a, b) {
        (Value::Str(_) | Value::List(_) | Value::Tuple(_), _) => Some((a, b)),
        (_, Value::Str(_) | Value::List(_) | Value::Tuple(_)) => Some((b, a)),
        _ => None,
    };
    let Some((sequence, count)) = repeated else {
        return arithmetic("*", a, b, i128::checked_mul, |x, y| x * y);
    };
    let Some(count) = count.integer() else {
        return Err(type_error(format!(
            "can't multiply sequence by non-int of type '{}'",
            count.type_name()
        )));
    };
    let count = usize::try_from(count.max(0)).map_err(|_| overflow())?;
    match sequence {
        Value::Str(text) => {
            check_length(text.text.len().saturating_mul(count))?;
            Ok(Value::marked(text.text.repeat(count), text.markup))
        }
        Value::List(items) | Value::Tuple(items) => {
            check_items(items.items.len().saturating_mul(count))?;
            let total = items.items.len() * count;
            let repeated = items.items.iter().cycle().take(total).cloned().collect();
            if matches!(sequence, Value::List(_)) {
                Value::list(repeated)
            } else {
                Value::tuple(repeated)
            }
        }
        _ => Err(unsupported("*", a, b)),
    }
}

fn divide(a: &Value, b: &Value) -> Outcome<Value> {
    match (a.number(), b.number()) {
        (Some(_), Some(y)) if y.float() == 0.0 => Err(runtime("division by zero")),
        (Some(x), Some(y)) => Ok(Value::Float(x.float() / y.float())),
        _ => Err(unsupported("/", a, b)),
    }
}

fn floor_divide(a: &Value, b: &Value) -> Outcome<Value> {
    match (a.number(), b.number()) {
        (Some(_), Some(y)) if y.float() == 0.0 => {
            Err(runtime("integer division or modulo by zero"))
        }
        (Some(Number::Int(x)), Some(Number::Int(y))) => {
            let quotient = x.checked_div(y).ok_or_else(overflow)?;
            let inexact = x % y != 0 && (x < 0) != (y < 0);
            Ok(Value::Int(quotient - i128::from(inexact)))
        }
        (Some(x), Some(y)) => {
            let (x, y) = (x.float(), y.float());
            Ok(Value::Float(((x - float_modulo(x, y)) / y).round()))
        }
        _ => Err(unsupported("//", a, b)),
    }
}

fn float_modulo(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest != 0.0 && (rest < 0.0) != (y < 0.0) {
        rest + y
    } else {
        rest
    }
}

fn modulo(a: &Value, b: &Value) -> Outcome<Value> {
    match (a.number(), b.number()) {
        (Some(_), Some(y)) if y.float() == 0.0 => {
            Err(runtime("integer division or modulo by zero"))
        }
        (Some(Number::Int(x)), Some(Number::Int(y))) => {
            let rest = x.checked_rem(y).ok_or_else(overflow)?;
            let adjust = rest != 0 && (rest < 0) != (y < 0);
            Ok(Value::Int(if adjust { rest + y } else { rest }))
        }
        (Some(x), Some(y)) => Ok(Value::Float(float_modulo(x.float(), y.float()))),
        _ => Err(unsupported("%", a, b)),
    }
}

fn power(a: &Value, b: &Value) -> Outcome<Value> {
    match (a.number(), b.number()) {
        (Some(Number::Int(x)), Some(Number::Int(y))) if y >= 0 => {
            if x == 0 || x == 1 {
                return Ok(Value::Int(if y == 0 { 1 } else { x }));
            }
            let exponent = u32::try_from(y).map_err(|_| overflow())?;
            x.checked_pow(exponent).map(Value::Int).ok_or_else(overflow)
        }
        (Some(x), Some(y)) => {
            let (x, y) = (x.float(), y.float());
            if x == 0.0 && y < 0.0 {
                return Err(runtime("0.0 cannot be raised to a negative power"));
            }
            if x < 0.0 && y.fract() != 0.0 {
                return Err(runtime("a complex number"));
            }
            Ok(Value::Float(x.powf(y)))
        }
        _ => Err(unsupported("** or pow()", a, b)),
    }
}

pub fn negative(value: &Value) -> Outcome<Value> {
    match value.number() {
        Some(Number::Int(value)) => value.checked_neg().map(Value::Int).ok_or_else(overflow),
        Some(Number::Float(value)) => Ok(Value::Float(-value)),
        None => Err(unary_error("-", value)),
    }
}

pub fn positive(value: &Value) -> Outcome<Value> {
    match value.number() {
        Some(Number::Int(value)) => Ok(Value::Int(value)),
        Some(Number::Float(value)) => Ok(Value::Float(value)),
        None => Err(unary_error("+", value)),
    }
}

fn unary_error(symbol: &str, value: &Value) -> Error {
    match value {
        Value::Undefined(undefined) => runtime(undefined.message.clone()),
        _ => type_error(format!("bad operand type for unary {symbol}: '{}'", value.type_name())),
    }
}

pub fn equal(a: &Value, b: &Value) -> Outcome<bool> {
    let mut steps = COMPARISON_STEPS;
    equal_within(a, b, &mut steps)
}

fn equal_within(a: &Value, b: &Value, steps: &mut usize) -> Outcome<bool> {
    *steps = steps.checked_sub(1).ok_or_else(|| limit("a comparison of too many items"))?;
    if let (Some(x), Some(y)) = (a.number(), b.number()) {
        return Ok(x.equals(y));
    }
    Ok(match (a, b) {
        (Value::Undefined(_), Value::Undefined(_)) | (Value::None, Value::None) => true,
        (Value::Str(x), Value::Str(y)) => x.text == y.text,
        (Value::List(x), Value::List(y)) | (Value::Tuple(x), Value::Tuple(y)) => {
            if std::rc::Rc::ptr_eq(x, y) {
                return Ok(true);
            }
            if x.items.len() != y.items.len() {
                return Ok(false);
            }
            for (p, q) in x.items.iter().zip(&y.items) {
                if !equal_within(p, q, steps)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Dict(x), Value::Dict(y)) => equal_dicts(x, y, steps)?,
        (Value::View(ViewKind::Values, _), _) | (_, Value::View(ViewKind::Values, _)) => false,
        (Value::View(_, x), Value::View(_, y)) => {
            let mut same = x.items.len() == y.items.len();
            for p in &x.items {
                let mut found = false;
                for q in &y.items {
                    found = found || equal_within(p, q, steps)?;
                }
                same = same && found;
            }
            same
        }
        (Value::Range(x), Value::Range(y)) => {
            x.len() == y.len()
                && (x.len() == 0 || (x.start == y.start && (x.len() == 1 || x.step == y.step)))
        }
        _ => identical(a, b),
    })
}

fn equal_dicts(x: &Dict, y: &Dict, steps: &mut usize) -> Outcome<bool> {
    if x.len() != y.len() {
        return Ok(false);
    }
    for (key, value) in &x.entries {
        match y.get(key) {
            Some(other) if equal_within(value, other, steps)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Python's "is" of objects.
pub fn identical(a: &Value, b: &Value) -> bool {
    use std::rc::Rc;
    match (a, b) {
        (Value::None, Value::None) => true,
        (Value::Bool(x), Value::Bool(y)) => x == y,
        (Value::Int(x), Value::Int(y)) => x == y,
        (Value::Str(x), Value::Str(y)) => {
            std::sync::Arc::ptr_eq(&x.text, &y.text) || x.text == y.text
        }
        (Value::List(x), Value::List(y)) | (Value::Tuple(x), Value::Tuple(y)) => Rc::ptr_eq(x, y),
        (Value::Dict(x), Value::Dict(y)) => Rc::ptr_eq(x, y),
        (Value::Namespace(x), Value::Namespace(y)) => Rc::ptr_eq(x, y),
        (Value::Macro(x), Value::Macro(y)) => Rc::ptr_eq(x, y),
        (Value::Undefined(x), Value::Undefined(y)) => Rc::ptr_eq(x, y),
        (Value::Generator(x), Value::Generator(y)) => Rc::ptr_eq(x, y),
        (Value::Function(x), Value::Function(y)) => x == y,
        _ => false,
    }
}

/// The order of "<", for a sort or a comparison; None when a NaN is in it.
pub fn order(symbol: &str, a: &Value, b: &Value) -> Outcome<Option<Ordering>> {
    if let (Some(x), Some(y)) = (a.number(), b.number()) {
        return Ok(x.compare(y));
    }
    match (a, b) {
        (Value::Str(x), Value::Str(y)) => Ok(Some(x.text.cmp(&y.text))),
        (Value::List(x), Value::List(y)) | (Value::Tuple(x), Value::Tuple(y)) => {
            for (p, q) in x.items.iter().zip(&y.items) {
                if !equal(p, q)? {
                    return order(symbol, p, q);
                }
            }
            Ok(Some(x.items.len().cmp(&y.items.len())))
        }
        (Value::Undefined(undefined), _) | (_, Value::Undefined(undefined)) => {
            Err(runtime(undefined.message.clone()))
        }
        _ => Err(type_error(format!(
            "'{symbol}' not supported between instances of '{}' and '{}'",
            a.type_name(),
            b.type_name()
        ))),
    }
}

pub fn compare(operator: Comparison, a: &Value, b: &Value) -> Outcome<bool> {
    Ok(match operator {
        Comparison::Eq => equal(a, b)?,
        Comparison::Ne => !equal(a, b)?,
        Comparison::Lt => order("<", a, b)? == Some(Ordering::Less),
        Comparison::Le => order("<=", a, b)?.is_some_and(Ordering::is_le),
        Comparison::Gt => order(">", a, b)? == Some(Ordering::Greater),
        Comparison::Ge => order(">=", a, b)?.is_some_and(Ordering::is_ge),
        Comparison::In => contains(b, a)?,
        Comparison::NotIn => !contains(b, a)?,
    })
}

/// needle in haystack.
pub fn contains(haystack: &Value, needle: &Value) -> Outcome<bool> {
    match haystack {
        Value::Str(text) => match needle {
            Value::Str(Text { text: part, .. }) => Ok(text.text.contains(&**part)),
            _ => Err(type_error(format!(
                "'in <string>' requires string as left operand, not {}",
                needle.type_name()
            ))),
        },
        Value::Dict(dict) => {
            needle.check_key()?;
            Ok(dict.get(needle).is_some())
        }
        Value::View(ViewKind::Keys, _) => {
            needle.check_key()?;
            contains_item(haystack, needle)
        }
        _ if haystack.iterable() => contains_item(haystack, needle),
        _ => {
            Err(type_error(format!("argument of type '{}' is not iterable", haystack.type_name())))
        }
    }
}

fn contains_item(haystack: &Value, needle: &Value) -> Outcome<bool> {
    for item in haystack.iterate()? {
        if equal(&item, needle)? {
            return Ok(true);
        }
    }
    Ok(false)
}
