//! Methods of dicts, lists, tuples and numbers.

use std::rc::Rc;

use super::call::Arguments;
use super::error::{runtime, type_error, Outcome};
use super::operators::equal;
use super::text_methods::call_text_method;
use super::value::{Dict, Value, ViewKind};

pub fn call_method(receiver: &Value, name: &str, arguments: &Arguments) -> Outcome<Value> {
    match receiver {
        Value::Str(text) => call_text_method(text, name, arguments),
        Value::Dict(dict) => call_dict_method(dict, name, arguments),
        Value::List(items) | Value::Tuple(items) => match name {
            "copy" => Ok(receiver.clone()),
            "count" => {
                let wanted = arguments.bind_positional("count", 1, 1)?.value(0);
                let mut count = 0;
                for item in &items.items {
                    count += i128::from(equal(item, &wanted)?);
                }
                Ok(Value::Int(count))
            }
            "index" => {
                let bound = arguments.bind_positional("index", 3, 1)?;
                let length = items.items.len() as i128;
                let clamp = |index: i128| {
                    (if index < 0 { index + length } else { index }).clamp(0, length) as usize
                };
                let start = clamp(bound.integer(1, 0)?);
                let stop = clamp(bound.integer(2, length)?);
                for position in start..stop {
                    if equal(&items.items[position], &bound.value(0))? {
                        return Ok(Value::Int(position as i128));
                    }
                }
                Err(runtime("the item is not in the list"))
            }
            _ => Err(type_error(format!("list.{name} is not supported"))),
        },
        Value::Int(_) | Value::Bool(_) => match (name, receiver.integer()) {
            ("conjugate", Some(value)) => Ok(Value::Int(value)),
            ("bit_length", Some(value)) => {
                Ok(Value::Int(i128::from(128 - value.unsigned_abs().leading_zeros())))
            }
            _ => Err(type_error(format!("int.{name} is not supported"))),
        },
        Value::Float(value) => match name {
            "conjugate" => Ok(receiver.clone()),
            _ => Ok(Value::Bool(value.fract() == 0.0)),
        },
        Value::Cycler(cycler) => {
            let current = cycler.items.items[cycler.position.get()].clone();
            if name == "reset" {
                cycler.position.set(0);
                return Ok(Value::None);
            }
            cycler.position.set((cycler.position.get() + 1) % cycler.items.items.len());
            Ok(current)
        }
        Value::Loop(state) if name == "cycle" => {
            let choices = &arguments.positional;
            if choices.is_empty() {
                return Err(type_error("no items for cycling given"));
            }
            Ok(choices[state.index0.get() % choices.len()].clone())
        }
        Value::Loop(state) => {
            let mut last = state.last_changed.borrow_mut();
            let same = match &*last {
                Some(values) if values.len() == arguments.positional.len() => {
                    let mut same = true;
                    for (a, b) in values.iter().zip(&arguments.positional) {
                        same = same && equal(a, b)?;
                    }
                    same
                }
                _ => false,
            };
            if !same {
                *last = Some(arguments.positional.clone());
            }
            Ok(Value::Bool(!same))
        }
        _ => Err(type_error(format!("'{}' object is not callable", receiver.type_name()))),
    }
}

fn call_dict_method(dict: &Rc<Dict>, name: &str, arguments: &Arguments) -> Outcome<Value> {
    match name {
        "get" => {
            let bound = arguments.bind_positional("get", 2, 1)?;
            let key = bound.value(0);
            key.check_key()?;
            Ok(dict.get(&key).cloned().unwrap_or_else(|| bound.value(1)))
        }
        "items" | "keys" | "values" => {
            arguments.bind_positional("items", 0, 0)?;
            view(dict, name)
        }
        "copy" => Ok(Value::Dict(dict.clone())),
        "fromkeys" => {
            let bound = arguments.bind_positional("fromkeys", 2, 1)?;
            let mut made = Dict::default();
            for key in bound.value(0).iterate()? {
                key.check_key()?;
                made.insert(key, bound.value(1));
            }
            Value::dict(made)
        }
        _ => Err(type_error(format!("dict.{name} is not supported"))),
    }
}

fn view(dict: &Dict, name: &str) -> Outcome<Value> {
    let entries = dict.entries.iter();
    let (kind, items) = match name {
        "keys" => (ViewKind::Keys, entries.map(|(key, _)| key.clone()).collect()),
        "values" => (ViewKind::Values, entries.map(|(_, value)| value.clone()).collect()),
        _ => (ViewKind::Items, pairs(dict)?),
    };
    Ok(Value::View(kind, Value::items(items)?))
}

/// (key, value) tuples.
pub fn pairs(dict: &Dict) -> Outcome<Vec<Value>> {
    dict.entries.iter().map(|(key, value)| Value::tuple(vec![key.clone(), value.clone()])).collect()
}
