//! Filters of lists and other iterables.

use std::cmp::Ordering;
use std::rc::Rc;

use super::attribute::get_path;
use super::call::Arguments;
use super::error::{runtime, type_error, Outcome};
use super::filters::{apply_filter, wrong};
use super::methods::pairs;
use super::operators::{binary, check_items, equal, order};
use super::predicates::apply_predicate;
use super::text::{check_length, to_text};
use super::value::{Items, Value};

/// Nothing when no filter here has the name.
pub fn apply_sequence_filter(
    name: &str,
    value: &Value,
    arguments: &Arguments,
) -> Outcome<Option<Value>> {
    Ok(Some(match name {
        "list" => {
            arguments.bind_positional("list", 0, 0)?;
            Value::list(value.iterate()?)?
        }
        "first" => {
            let mut items = value.iterate()?.into_iter();
            let first = items.next();
            if let Value::Generator(generator) = value {
                generator.rest.replace(Some(Ok(items.collect())));
            }
            first.unwrap_or_else(|| Value::undefined("No first item, sequence was empty."))
        }
        "last" => {
            if !reversible(value) {
                return Err(not_reversible(value));
            }
            let last = value.iterate()?.pop();
            last.unwrap_or_else(|| Value::undefined("No last item, sequence was empty."))
        }
        "reverse" => reverse(value)?,
        "items" => match value {
            Value::Undefined(_) => Value::generator(Ok(Vec::new()), false),
            Value::Dict(dict) => Value::generator(Ok(pairs(dict)?), false),
            _ => {
                Value::generator(Err(type_error("Can only get item pairs from a mapping.")), false)
            }
        },
        "join" => join(value, arguments)?,
        "map" => map(value, arguments)?,
        "select" | "reject" | "selectattr" | "rejectattr" => select(name, value, arguments)?,
        "sort" => {
            let bound = arguments.bind("sort", &["reverse", "case_sensitive", "attribute"], 0)?;
            let attribute = bound.value(2);
            let paths = match &attribute {
                Value::Str(text) => text.text.split(',').map(Value::text).collect(),
                other => vec![other.clone()],
            };
            let sensitive = bound.truth(1, false);
            let key = |item: &Value| {
                let parts =
                    paths.iter().map(|path| Ok(folded(get_path(item, path, None)?, sensitive)));
                Value::list(parts.collect::<Outcome<_>>()?)
            };
            Value::list(sorted(value.iterate()?, key, bound.truth(0, false))?)?
        }
        "dictsort" => dict_sort(value, arguments)?,
        "groupby" => group_by(value, arguments)?,
        "unique" => Value::generator(unique(value, arguments), false),
        "min" | "max" => extreme(value, arguments, name == "max")?,
        "sum" => {
            let bound = arguments.bind("sum", &["attribute", "start"], 0)?;
            let mut total = bound.get(1).cloned().unwrap_or(Value::Int(0));
            for item in value.iterate()? {
                let item = match bound.get_some(0) {
                    Some(path) => get_path(&item, path, None)?,
                    None => item,
                };
                total = binary(super::ast::Binary::Add, &total, &item)?;
            }
            total
        }
        "batch" => Value::generator(batch(value, arguments), false),
        "slice" => Value::generator(slices(value, arguments), false),
        _ => return Ok(None),
    }))
}

fn reversible(value: &Value) -> bool {
    match value {
        Value::Generator(generator) => generator.reversible,
        Value::Loop(_) => false,
        _ => value.iterable(),
    }
}

fn not_reversible(value: &Value) -> super::error::Error {
    type_error(format!("'{}' object is not reversible", value.type_name()))
}

fn reverse(value: &Value) -> Outcome<Value> {
    match value {
        Value::Str(text) => Ok(Value::marked(text.text.chars().rev().collect(), text.markup)),
        Value::Generator(_) => {
            let mut items = value.iterate()?;
            items.reverse();
            Value::list(items)
        }
        _ if reversible(value) => {
            let mut items = value.iterate()?;
            items.reverse();
            Ok(Value::generator(Ok(items), false))
        }
        _ => Err(runtime("argument must be iterable")),
    }
}

fn join(value: &Value, arguments: &Arguments) -> Outcome<Value> {
    let bound = arguments.bind("join", &["d", "attribute"], 0)?;
    let separator = match bound.get(0) {
        Some(separator) => to_text(separator)?,
        None => String::new(),
    };
    let mut out = String::new();
    for (position, item) in value.iterate()?.into_iter().enumerate() {
        if position > 0 {
            out.push_str(&separator);
        }
        let item = match bound.get_some(1) {
            Some(path) => get_path(&item, path, None)?,
            None => item,
        };
        super::text::write_text(&mut out, &item)?;
        check_length(out.len())?;
    }
    Ok(Value::string(out))
}

fn map(value: &Value, arguments: &Arguments) -> Outcome<Value> {
    if !value.truth() {
        return Ok(Value::generator(Ok(Vec::new()), false));
    }
    if let (true, Some((_, path))) = (
        arguments.positional.is_empty(),
        arguments.named.iter().find(|(name, _)| &**name == "attribute"),
    ) {
        let others = arguments.named.iter().find(|(n, _)| &**n != "attribute" && &**n != "default");
        if let Some((name, _)) = others {
            return Err(runtime(format!("Unexpected keyword argument '{name}'")));
        }
        let default = arguments.named.iter().find(|(n, _)| &**n == "default").map(|(_, v)| v);
        let default = default.filter(|value| !matches!(value, Value::None));
        let mapped = value.iterate().and_then(|items| {
            items.iter().map(|item| get_path(item, path, default)).collect::<Outcome<Vec<_>>>()
        });
        return Ok(Value::generator(mapped, false));
    }
    let Some((filter, rest)) = arguments.positional.split_first() else {
        return Ok(Value::generator(Err(runtime("map requires a filter argument")), false));
    };
    let rest = Arguments { positional: rest.to_vec(), named: arguments.named.clone() };
    let filter = to_text(filter)?;
    let mapped = value.iterate().and_then(|items| {
        items.iter().map(|item| apply_filter(&filter, item, &rest)).collect::<Outcome<Vec<_>>>()
    });
    Ok(Value::generator(mapped, false))
}

fn select(name: &str, value: &Value, arguments: &Arguments) -> Outcome<Value> {
    if !value.truth() {
        return Ok(Value::generator(Ok(Vec::new()), false));
    }
    let by_attribute = name.ends_with("attr");
    let wanted = name.starts_with("select");
    let mut rest = arguments.positional.clone();
    let selected = (|| {
        let path = match by_attribute {
            true if rest.is_empty() => {
                return Err(runtime("Missing parameter for attribute name"));
            }
            true => Some(rest.remove(0)),
            false => None,
        };
        let test = if rest.is_empty() { None } else { Some(to_text(&rest.remove(0))?) };
        let rest = Arguments { positional: rest, named: arguments.named.clone() };
        let mut kept = Vec::new();
        for item in value.iterate()? {
            let subject = match &path {
                Some(path) => get_path(&item, path, None)?,
                None => item.clone(),
            };
            let passed = match &test {
                Some(test) => apply_predicate(test, &subject, &rest)?,
                None => subject.truth(),
            };
            if passed == wanted {
                kept.push(item);
            }
        }
        Ok(kept)
    })();
    Ok(Value::generator(selected, false))
}

/// Lower case for a comparison that ignores case.
fn folded(value: Value, case_sensitive: bool) -> Value {
    match &value {
        Value::Str(text) if !case_sensitive => Value::string(text.text.to_lowercase()),
        _ => value,
    }
}

/// Python's sorted: stable, and reversed without changing the order of equals.
pub fn sorted(
    items: Vec<Value>,
    key: impl Fn(&Value) -> Outcome<Value>,
    reverse: bool,
) -> Outcome<Vec<Value>> {
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        keyed.push((key(&item)?, item));
    }
    let mut failure = None;
    keyed.sort_by(|(a, _), (b, _)| {
        let (a, b) = if reverse { (b, a) } else { (a, b) };
        match order("<", a, b) {
            Ok(found) => found.unwrap_or(Ordering::Equal),
            Err(error) => {
                failure.get_or_insert(error);
                Ordering::Equal
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(keyed.into_iter().map(|(_, item)| item).collect()),
    }
}

fn dict_sort(value: &Value, arguments: &Arguments) -> Outcome<Value> {
    let bound = arguments.bind("dictsort", &["case_sensitive", "by", "reverse"], 0)?;
    let by = bound.text(1)?;
    let position = match by.as_deref() {
        None | Some("key") => 0,
        Some("value") => 1,
        Some(_) => return Err(runtime("You can only sort by either \"key\" or \"value\"")),
    };
    let Value::Dict(dict) = value else {
        return Err(wrong("dictsort", value));
    };
    let sensitive = bound.truth(0, false);
    let key = |pair: &Value| match pair {
        Value::Tuple(items) => Ok(folded(items.items[position].clone(), sensitive)),
        _ => Ok(Value::None),
    };
    Value::list(sorted(pairs(dict)?, key, bound.truth(2, false))?)
}

fn group_by(value: &Value, arguments: &Arguments) -> Outcome<Value> {
    let bound = arguments.bind("groupby", &["attribute", "default", "case_sensitive"], 1)?;
    let path = bound.value(0);
    let sensitive = bound.truth(2, false);
    let default = bound.get_some(1);
    let key = |item: &Value| Ok(folded(get_path(item, &path, default)?, sensitive));
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for item in sorted(value.iterate()?, key, false)? {
        let item_key = key(&item)?;
        match groups.last_mut() {
            Some((last, members)) if equal(last, &item_key)? => members.push(item),
            _ => groups.push((item_key, vec![item])),
        }
    }
    let mut made = Vec::new();
    for (_, members) in groups {
        let name = get_path(&members[0], &path, default)?;
        let pair = Value::items(vec![name, Value::list(members)?])?;
        let items = pair.items.clone();
        let group = Items { items, depth: pair.depth, weight: pair.weight, group: true };
        made.push(Value::Tuple(Rc::new(group)));
    }
    Value::list(made)
}

fn unique(value: &Value, arguments: &Arguments) -> Outcome<Vec<Value>> {
    let bound = arguments.bind("unique", &["case_sensitive", "attribute"], 0)?;
    let sensitive = bound.truth(0, false);
    let mut seen = super::value::Dict::default();
    let mut kept = Vec::new();
    for item in value.iterate()? {
        let key = match bound.get_some(1) {
            Some(path) => get_path(&item, path, None)?,
            None => item.clone(),
        };
        let key = folded(key, sensitive);
        key.check_key()?;
        if seen.get(&key).is_none() {
            seen.insert(key, Value::None);
            kept.push(item);
        }
    }
    Ok(kept)
}

fn extreme(value: &Value, arguments: &Arguments, largest: bool) -> Outcome<Value> {
    let bound = arguments.bind("min", &["case_sensitive", "attribute"], 0)?;
    let sensitive = bound.truth(0, false);
    let mut best: Option<(Value, Value)> = None;
    for item in value.iterate()? {
        let key = match bound.get_some(1) {
            Some(path) => get_path(&item, path, None)?,
            None => item.clone(),
        };
        let key = folded(key, sensitive);
        let better = match &best {
            None => true,
            Some((held, _)) => {
                let wanted = if largest { Ordering::Greater } else { Ordering::Less };
                order(if largest { ">" } else { "<" }, &key, held)? == Some(wanted)
            }
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(match best {
        Some((_, item)) => item,
        None => Value::undefined("No aggregated item, sequence was empty."),
    })
}

fn batch(value: &Value, arguments: &Arguments) -> Outcome<Vec<Value>> {
    let bound = arguments.bind("batch", &["linecount", "fill_with"], 1)?;
    let size = usize::try_from(bound.integer(0, 1)?).unwrap_or(0);
    let mut batches = Vec::new();
    let mut current = Vec::new();
    for item in value.iterate()? {
        if current.len() == size {
            batches.push(std::mem::take(&mut current));
        }
        current.push(item);
    }
    if !current.is_empty() {
        if let Some(fill) = bound.get_some(1) {
            check_items(size)?;
            while current.len() < size {
                current.push(fill.clone());
            }
        }
        batches.push(current);
    }
    batches.into_iter().map(Value::list).collect()
}

fn slices(value: &Value, arguments: &Arguments) -> Outcome<Vec<Value>> {
    let bound = arguments.bind("slice", &["slices", "fill_with"], 1)?;
    let items = value.iterate()?;
    let count = usize::try_from(bound.integer(0, 1)?).unwrap_or(0);
    if count == 0 {
        return Err(runtime("integer division or modulo by zero"));
    }
    check_items(count)?;
    let (size, extra) = (items.len() / count, items.len() % count);
    let mut made = Vec::new();
    let mut offset = 0;
    for number in 0..count {
        let length = size + usize::from(number < extra);
        let mut part = items[offset..offset + length].to_vec();
        offset += length;
        if let (Some(fill), true) = (bound.get_some(1), number >= extra) {
            part.push(fill.clone());
        }
        made.push(Value::list(part)?);
    }
    Ok(made)
}
