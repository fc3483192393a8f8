//! Attribute and item access as the sandbox of jinja2 does it: `a.b` tries the attribute first,
//! `a["b"]` the item first, and either falls back to the other.

use std::rc::Rc;
use std::sync::Arc;

use super::error::{runtime, Outcome};
use super::text::repr;
use super::value::{Dict, Method, Number, Range, Value};

const TEXT_METHODS: &[&str] = &[
    "capitalize",
    "casefold",
    "center",
    "count",
    "encode",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "maketrans",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "translate",
    "upper",
    "zfill",
];
const DICT_METHODS: &[&str] = &[
    "clear",
    "copy",
    "fromkeys",
    "get",
    "items",
    "keys",
    "pop",
    "popitem",
    "setdefault",
    "update",
    "values",
];
const DICT_CHANGES: &[&str] = &["clear", "pop", "popitem", "setdefault", "update"];
const LIST_METHODS: &[&str] = &[
    "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse",
    "sort",
];
const LIST_CHANGES: &[&str] =
    &["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];
/// Attributes that every Python object has and the sandbox hides.
const HIDDEN: &[&str] = &[
    "__class__",
    "__delattr__",
    "__dict__",
    "__dir__",
    "__doc__",
    "__eq__",
    "__format__",
    "__ge__",
    "__getattribute__",
    "__gt__",
    "__hash__",
    "__init__",
    "__init_subclass__",
    "__le__",
    "__lt__",
    "__ne__",
    "__new__",
    "__reduce__",
    "__reduce_ex__",
    "__repr__",
    "__setattr__",
    "__sizeof__",
    "__str__",
    "__subclasshook__",
];

/// What Python's getattr finds.
enum Found {
    Value(Value),
    Hidden,
    Nothing,
}

fn method(receiver: &Value, name: &str) -> Found {
    Found::Value(Value::Method(Rc::new(Method {
        receiver: receiver.clone(),
        name: Arc::from(name),
    })))
}

fn find(value: &Value, name: &str) -> Outcome<Found> {
    if let Value::Undefined(undefined) = value {
        if !HIDDEN.contains(&name) {
            return Err(runtime(undefined.message.clone()));
        }
    }
    if name.starts_with("__") {
        return Ok(if HIDDEN.contains(&name) { Found::Hidden } else { Found::Nothing });
    }
    Ok(match value {
        Value::Str(_) if TEXT_METHODS.contains(&name) => method(value, name),
        Value::Dict(_) if DICT_CHANGES.contains(&name) => Found::Hidden,
        Value::Dict(_) if DICT_METHODS.contains(&name) => method(value, name),
        Value::List(_) if LIST_CHANGES.contains(&name) => Found::Hidden,
        Value::List(_) if LIST_METHODS.contains(&name) => method(value, name),
        Value::Tuple(items) if items.group && name == "grouper" => {
            Found::Value(items.items[0].clone())
        }
        Value::Tuple(items) if items.group && name == "list" => {
            Found::Value(items.items[1].clone())
        }
        Value::Tuple(_) if matches!(name, "count" | "index") => method(value, name),
        Value::Range(range) => match name {
            "start" => Found::Value(Value::Int(range.start)),
            "stop" => Found::Value(Value::Int(range.stop)),
            "step" => Found::Value(Value::Int(range.step)),
            _ => Found::Nothing,
        },
        Value::Bool(_) | Value::Int(_) => match (name, value.integer()) {
            ("real" | "numerator", Some(integer)) => Found::Value(Value::Int(integer)),
            ("imag", _) => Found::Value(Value::Int(0)),
            ("denominator", _) => Found::Value(Value::Int(1)),
            ("bit_length" | "conjugate", _) => method(value, name),
            _ => Found::Nothing,
        },
        Value::Float(_) => match name {
            "real" => Found::Value(value.clone()),
            "imag" => Found::Value(Value::Float(0.0)),
            "is_integer" | "conjugate" => method(value, name),
            _ => Found::Nothing,
        },
        Value::Namespace(names) => match names.borrow().get_text(name) {
            Some(value) => Found::Value(value.clone()),
            None => Found::Nothing,
        },
        Value::Macro(node) => match (name, &node.node.name) {
            ("name", Some(name)) => Found::Value(Value::text(name)),
            ("caller", _) => Found::Value(Value::Bool(node.node.uses_caller)),
            _ => Found::Nothing,
        },
        Value::Loop(_) => loop_attribute(value, name),
        Value::Cycler(cycler) => match name {
            "next" | "reset" => method(value, name),
            "current" => Found::Value(cycler.items.items[cycler.position.get()].clone()),
            _ => Found::Nothing,
        },
        _ => Found::Nothing,
    })
}

fn loop_attribute(value: &Value, name: &str) -> Found {
    let Value::Loop(state) = value else {
        return Found::Nothing;
    };
    let items = &state.items.items;
    let index0 = state.index0.get();
    let integer = |value: usize| Found::Value(Value::Int(value as i128));
    match name {
        "index" => integer(index0 + 1),
        "index0" => integer(index0),
        "length" => integer(items.len()),
        "revindex" => integer(items.len() - index0),
        "revindex0" => integer(items.len() - index0 - 1),
        "first" => Found::Value(Value::Bool(index0 == 0)),
        "last" => Found::Value(Value::Bool(index0 + 1 == items.len())),
        "depth" => integer(state.depth0 + 1),
        "depth0" => integer(state.depth0),
        "previtem" => Found::Value(match index0.checked_sub(1) {
            Some(previous) => items[previous].clone(),
            None => Value::undefined("there is no previous item"),
        }),
        "nextitem" => Found::Value(
            items
                .get(index0 + 1)
                .cloned()
                .unwrap_or_else(|| Value::undefined("there is no next item")),
        ),
        "cycle" | "changed" => method(value, name),
        _ => Found::Nothing,
    }
}

fn hidden(value: &Value, name: &str) -> Value {
    let kind = value.type_name();
    Value::undefined(format!("access to attribute '{name}' of '{kind}' object is unsafe."))
}

fn missing(value: &Value, key: &Value) -> Outcome<Value> {
    Ok(Value::undefined(match key {
        Value::Str(name) => {
            let mut quoted = String::new();
            super::text::quote(&mut quoted, &name.text);
            format!("'{}' has no attribute {quoted}", value.described())
        }
        _ => format!("{} has no element {}", value.described(), repr(key)?),
    }))
}

/// `value.name`.
pub fn get_attribute(value: &Value, name: &str) -> Outcome<Value> {
    match find(value, name)? {
        Found::Value(found) => return Ok(found),
        Found::Hidden => return Ok(hidden(value, name)),
        Found::Nothing => {}
    }
    if let Value::Dict(dict) = value {
        if let Some(found) = dict.get_text(name) {
            return Ok(found.clone());
        }
    }
    missing(value, &Value::text(name))
}

/// `value[key]`.
pub fn get_item(value: &Value, key: &Value) -> Outcome<Value> {
    if let Some(found) = item(value, key)? {
        return Ok(found);
    }
    if let Value::Str(name) = key {
        match find(value, &name.text)? {
            Found::Value(found) => return Ok(found),
            Found::Hidden => return Ok(hidden(value, &name.text)),
            Found::Nothing => {}
        }
    }
    missing(value, key)
}

/// Nothing where Python raises a LookupError or a TypeError.
fn item(value: &Value, key: &Value) -> Outcome<Option<Value>> {
    match value {
        Value::Undefined(undefined) => Err(runtime(undefined.message.clone())),
        Value::Dict(dict) => Ok(dict.get(key).cloned()),
        Value::Str(text) => {
            let Some(index) = key.integer() else {
                return Ok(None);
            };
            let c = if index >= 0 {
                usize::try_from(index).ok().and_then(|i| text.text.chars().nth(i))
            } else {
                usize::try_from(-index - 1).ok().and_then(|i| text.text.chars().rev().nth(i))
            };
            Ok(c.map(|c| Value::marked(c.to_string(), text.markup)))
        }
        Value::List(items) | Value::Tuple(items) => {
            let position = key.integer().and_then(|index| wrap(index, items.items.len()));
            Ok(position.map(|position| items.items[position].clone()))
        }
        Value::Range(range) => {
            let position = key.integer().and_then(|index| wrap(index, range.len()));
            Ok(position.map(|position| Value::Int(range.at(position))))
        }
        _ => Ok(None),
    }
}

fn wrap(index: i128, length: usize) -> Option<usize> {
    let index = if index < 0 { index + length as i128 } else { index };
    usize::try_from(index).ok().filter(|&position| position < length)
}

/// The positions that `[start:stop:step]` selects.
fn slice_positions(length: usize, parts: &[Value; 3]) -> Outcome<Vec<usize>> {
    let range = slice_range(length, parts)?;
    Ok((0..range.len()).map(|i| range.at(i) as usize).collect())
}

fn slice_range(length: usize, parts: &[Value; 3]) -> Outcome<Range> {
    let number = |value: &Value| match value {
        Value::None => Ok(None),
        _ => match value.number() {
            Some(Number::Int(integer)) => Ok(Some(integer)),
            _ => Err(runtime("slice indices must be integers or None")),
        },
    };
    let step = number(&parts[2])?.unwrap_or(1);
    if step == 0 {
        return Err(runtime("slice step cannot be zero"));
    }
    let length = length as i128;
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let bound = |value: Option<i128>, default: i128| match value {
        None => default,
        Some(index) => {
            (if index < 0 { index.saturating_add(length) } else { index }).clamp(low, high)
        }
    };
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    let start = bound(number(&parts[0])?, first);
    let stop = bound(number(&parts[1])?, last);
    Ok(Range { start, stop, step: step.clamp(-(1 << 62), 1 << 62) })
}

/// `value[start:stop:step]`, which jinja2 leaves to Python: nothing is undefined here.
pub fn slice(value: &Value, parts: &[Value; 3]) -> Outcome<Value> {
    match value {
        Value::Undefined(undefined) => Err(runtime(undefined.message.clone())),
        Value::Str(text) => {
            let positions = slice_positions(text.text.chars().count(), parts)?;
            let forward = positions.windows(2).all(|pair| pair[1] == pair[0] + 1);
            let sliced = if forward {
                let skip = positions.first().copied().unwrap_or(0);
                text.text.chars().skip(skip).take(positions.len()).collect()
            } else {
                let chars: Vec<char> = text.text.chars().collect();
                positions.iter().map(|&position| chars[position]).collect()
            };
            Ok(Value::marked(sliced, text.markup))
        }
        Value::List(items) => {
            Value::list(pick(&items.items, &slice_positions(items.items.len(), parts)?))
        }
        Value::Tuple(items) => {
            Value::tuple(pick(&items.items, &slice_positions(items.items.len(), parts)?))
        }
        Value::Range(range) => {
            let picked = slice_range(range.len(), parts)?;
            let place = |index: i128| range.start + range.step * index;
            let (start, stop) = (place(picked.start), place(picked.stop));
            Ok(Value::Range(Range { start, stop, step: range.step * picked.step }))
        }
        Value::Dict(_) => Err(runtime("unhashable type: 'slice'")),
        _ => Err(runtime(format!("'{}' object is not subscriptable", value.type_name()))),
    }
}

fn pick(items: &[Value], positions: &[usize]) -> Vec<Value> {
    positions.iter().map(|&position| items[position].clone()).collect()
}

/// `a.b.0.c` of the filters that take an attribute.
pub fn get_path(value: &Value, path: &Value, default: Option<&Value>) -> Outcome<Value> {
    let mut found = value.clone();
    let parts: Vec<Value> = match path {
        Value::Str(text) => text
            .text
            .split('.')
            .map(|part| match part.parse::<i128>() {
                Ok(index) if part.bytes().all(|b| b.is_ascii_digit()) => Value::Int(index),
                _ => Value::text(part),
            })
            .collect(),
        Value::None => Vec::new(),
        _ => vec![path.clone()],
    };
    for part in parts {
        found = get_item(&found, &part)?;
        if found.is_undefined() {
            if let Some(default) = default {
                found = default.clone();
            }
        }
    }
    Ok(found)
}

/// dict(...) and namespace(...): a mapping or pairs, then keywords.
pub fn build_dict(arguments: &super::call::Arguments) -> Outcome<Dict> {
    let mut dict = Dict::default();
    if arguments.positional.len() > 1 {
        return Err(runtime("dict expected at most 1 argument"));
    }
    if let Some(source) = arguments.positional.first() {
        match source {
            Value::Dict(other) => dict = (**other).clone(),
            _ => {
                for pair in source.iterate()? {
                    let mut pair = pair.iterate()?;
                    let (Some(value), Some(key), None) = (pair.pop(), pair.pop(), pair.pop())
                    else {
                        return Err(runtime("dictionary update sequence element needs length 2"));
                    };
                    key.check_key()?;
                    dict.insert(key, value);
                }
            }
        }
    }
    for (name, value) in &arguments.named {
        dict.insert(Value::text(name), value.clone());
    }
    Ok(dict)
}
