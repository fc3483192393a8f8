//! Methods of str and Markup. Positions count code points.

use std::sync::Arc;

use super::brace::format_braces;
use super::call::{Arguments, Bound};
use super::error::{runtime, type_error, Outcome};
use super::lexer::is_space;
use super::text::{capitalize, check_length, escape, escaped, is_printable, split_lines, title};
use super::value::{Text, Value};

/// Methods of Markup whose result is Markup and whose text arguments are escaped first.
const WRAPPED: &[&str] = &[
    "capitalize",
    "casefold",
    "center",
    "expandtabs",
    "ljust",
    "lower",
    "lstrip",
    "removeprefix",
    "removesuffix",
    "replace",
    "rjust",
    "rstrip",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];

pub fn call_text_method(receiver: &Text, name: &str, arguments: &Arguments) -> Outcome<Value> {
    if !receiver.markup {
        return plain(receiver, name, arguments);
    }
    let bare = Text { text: receiver.text.clone(), markup: false };
    match name {
        "format" => format_braces(receiver, arguments),
        "join" => join(receiver, arguments),
        _ if WRAPPED.contains(&name) => {
            let mut changed = arguments.clone();
            let values = changed.positional.iter_mut();
            for value in values.chain(changed.named.iter_mut().map(|(_, value)| value)) {
                if matches!(value, Value::Str(_)) {
                    *value = Value::string(escaped(value)?);
                }
            }
            mark(plain(&bare, name, &changed)?)
        }
        _ => mark(plain(&bare, name, arguments)?),
    }
}

fn mark(value: Value) -> Outcome<Value> {
    Ok(match value {
        Value::Str(text) => Value::Str(Text { text: text.text, markup: true }),
        Value::List(items) => Value::list(items.items.iter().cloned().map(marked).collect())?,
        Value::Tuple(items) => Value::tuple(items.items.iter().cloned().map(marked).collect())?,
        other => other,
    })
}

fn marked(value: Value) -> Value {
    match value {
        Value::Str(text) => Value::Str(Text { text: text.text, markup: true }),
        other => other,
    }
}

fn plain(receiver: &Text, name: &str, arguments: &Arguments) -> Outcome<Value> {
    let text = &*receiver.text;
    match name {
        "strip" | "lstrip" | "rstrip" => strip(text, name, arguments),
        "split" | "rsplit" => split(text, name == "rsplit", arguments),
        "splitlines" => {
            let bound = arguments.bind("splitlines", &["keepends"], 0)?;
            let lines = split_lines(text, bound.truth(0, false));
            Value::list(lines.into_iter().map(Value::text).collect())
        }
        "startswith" | "endswith" => affix(text, name == "startswith", arguments),
        "removeprefix" | "removesuffix" => {
            let part = arguments.bind_positional("removeprefix", 1, 1)?.required_text(0)?;
            let rest = match name {
                "removeprefix" => text.strip_prefix(&*part),
                _ => text.strip_suffix(&*part),
            };
            Ok(Value::text(rest.unwrap_or(text)))
        }
        "replace" => {
            let bound = arguments.bind_positional("replace", 3, 2)?;
            let count = bound.integer(2, -1)?;
            replace(text, &bound.required_text(0)?, &bound.required_text(1)?, count)
                .map(Value::string)
        }
        "find" | "index" | "rfind" | "rindex" | "count" => search(text, name, arguments),
        "partition" | "rpartition" => partition(text, name == "rpartition", arguments),
        "join" => join(receiver, arguments),
        "format" => format_braces(receiver, arguments),
        "format_map" => match arguments.bind_positional("format_map", 1, 1)?.value(0) {
            Value::Dict(dict) => {
                let named = dict.entries.iter().filter_map(|(key, value)| match key {
                    Value::Str(name) => Some((name.text.clone(), value.clone())),
                    _ => None,
                });
                let named = named.collect();
                format_braces(receiver, &Arguments { positional: Vec::new(), named })
            }
            other => Err(type_error(format!("format_map of a {}", other.type_name()))),
        },
        "center" | "ljust" | "rjust" | "zfill" | "expandtabs" => pad(text, name, arguments),
        _ => without_arguments(text, name, arguments),
    }
}

fn without_arguments(text: &str, name: &str, arguments: &Arguments) -> Outcome<Value> {
    if !arguments.positional.is_empty() || !arguments.named.is_empty() {
        return Err(type_error(format!("str.{name}() takes no arguments")));
    }
    let cased = |c: char| c.is_lowercase() || c.is_uppercase();
    let all = |check: fn(char) -> bool| !text.is_empty() && text.chars().all(check);
    Ok(match name {
        "lower" => Value::string(text.to_lowercase()),
        "upper" => Value::string(text.to_uppercase()),
        "casefold" => Value::string(text.to_lowercase().replace('\u{df}', "ss")),
        "title" => Value::string(title(text)),
        "capitalize" => Value::string(capitalize(text)),
        "swapcase" => Value::string(text.chars().fold(String::new(), |mut out, c| {
            if c.is_lowercase() {
                out.extend(c.to_uppercase());
            } else {
                out.extend(c.to_lowercase());
            }
            out
        })),
        "isspace" => Value::Bool(all(is_space)),
        "isalpha" => Value::Bool(all(char::is_alphabetic)),
        "isalnum" => Value::Bool(all(char::is_alphanumeric)),
        "isascii" => Value::Bool(text.is_ascii()),
        "isdecimal" => Value::Bool(all(is_decimal)),
        "isdigit" => Value::Bool(all(is_digit)),
        "isnumeric" => Value::Bool(all(char::is_numeric)),
        "isprintable" => Value::Bool(text.chars().all(is_printable)),
        "islower" => Value::Bool(text.chars().any(cased) && !text.chars().any(char::is_uppercase)),
        "isupper" => Value::Bool(text.chars().any(cased) && !text.chars().any(char::is_lowercase)),
        "istitle" => Value::Bool(text.chars().any(cased) && title(text) == text),
        "isidentifier" => Value::Bool(
            text.chars().all(|c| c == '_' || c.is_alphanumeric())
                && text.chars().next().is_some_and(|c| c == '_' || c.is_alphabetic()),
        ),
        _ => return Err(type_error(format!("str.{name} is not supported"))),
    })
}

fn is_decimal(c: char) -> bool {
    // Decimal digits are numeric, come in runs of ten and have no other numeric neighbours in them.
    c.is_ascii_digit()
        || (c.is_numeric()
            && matches!(c as u32,
                0x660..=0x669 | 0x6f0..=0x6f9 | 0x7c0..=0x7c9 | 0x966..=0x96f | 0x9e6..=0x9ef
                | 0xa66..=0xa6f | 0xae6..=0xaef | 0xb66..=0xb6f | 0xbe6..=0xbef | 0xc66..=0xc6f
                | 0xce6..=0xcef | 0xd66..=0xd6f | 0xde6..=0xdef | 0xe50..=0xe59 | 0xed0..=0xed9
                | 0xf20..=0xf29 | 0x1040..=0x1049 | 0x1090..=0x1099 | 0x17e0..=0x17e9
                | 0x1810..=0x1819 | 0x1946..=0x194f | 0x19d0..=0x19d9 | 0x1a80..=0x1a89
                | 0x1a90..=0x1a99 | 0x1b50..=0x1b59 | 0x1bb0..=0x1bb9 | 0x1c40..=0x1c49
                | 0x1c50..=0x1c59 | 0xa620..=0xa629 | 0xa8d0..=0xa8d9 | 0xa900..=0xa909
                | 0xa9d0..=0xa9d9 | 0xa9f0..=0xa9f9 | 0xaa50..=0xaa59 | 0xabf0..=0xabf9
                | 0xff10..=0xff19 | 0x104a0..=0x104a9 | 0x1d7ce..=0x1d7ff))
}

fn is_digit(c: char) -> bool {
    is_decimal(c)
        || matches!(c as u32,
            0xb2 | 0xb3 | 0xb9 | 0x2070 | 0x2074..=0x2079 | 0x2080..=0x2089 | 0x2460..=0x2468
            | 0x2474..=0x247c | 0x2488..=0x2490 | 0x24ea | 0x24f5..=0x24fd | 0x24ff
            | 0x2776..=0x277e | 0x2780..=0x2788 | 0x278a..=0x2792)
}

fn strip(text: &str, name: &str, arguments: &Arguments) -> Outcome<Value> {
    let bound = arguments.bind_positional("strip", 1, 0)?;
    let set = match bound.get_some(0) {
        None => None,
        Some(_) => Some(bound.required_text(0)?.chars().collect::<Vec<char>>()),
    };
    let strips = |c: char| match &set {
        None => is_space(c),
        Some(set) => set.contains(&c),
    };
    let mut rest = text;
    if name != "rstrip" {
        rest = rest.trim_start_matches(strips);
    }
    if name != "lstrip" {
        rest = rest.trim_end_matches(strips);
    }
    Ok(Value::text(rest))
}

fn split(text: &str, from_right: bool, arguments: &Arguments) -> Outcome<Value> {
    let bound = arguments.bind("split", &["sep", "maxsplit"], 0)?;
    let most = bound.integer(1, -1)?;
    let most = if most < 0 { usize::MAX } else { usize::try_from(most).unwrap_or(usize::MAX) };
    let parts: Vec<&str> = match bound.get_some(0) {
        None => split_blanks(text, from_right, most),
        Some(_) => {
            let separator = bound.required_text(0)?;
            if separator.is_empty() {
                return Err(runtime("empty separator"));
            }
            let pieces = most.saturating_add(1);
            if from_right {
                let mut parts: Vec<&str> = text.rsplitn(pieces, &*separator).collect();
                parts.reverse();
                parts
            } else {
                text.splitn(pieces, &*separator).collect()
            }
        }
    };
    Value::list(parts.into_iter().map(Value::text).collect())
}

fn split_blanks(text: &str, from_right: bool, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_matches(is_space);
    if most < usize::MAX {
        rest = if from_right {
            text.trim_end_matches(is_space)
        } else {
            text.trim_start_matches(is_space)
        };
    }
    if from_right {
        while !rest.is_empty() && parts.len() < most {
            let begin = rest.char_indices().rev().find(|&(_, c)| is_space(c));
            let begin = begin.map_or(0, |(position, c)| position + c.len_utf8());
            parts.push(&rest[begin..]);
            rest = rest[..begin].trim_end_matches(is_space);
        }
        let rest = rest.trim_end_matches(is_space);
        if !rest.trim_start_matches(is_space).is_empty() {
            parts.push(rest);
        }
        parts.reverse();
        return parts;
    }
    while !rest.is_empty() && parts.len() < most {
        let end = rest.find(is_space).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_space);
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    parts
}

/// The part of the text from code point `start` to `stop`, and the code points before it.
fn window<'a>(text: &'a str, bound: &Bound, first: usize) -> Outcome<Option<(&'a str, usize)>> {
    if bound.get_some(first).is_none() && bound.get_some(first + 1).is_none() {
        return Ok(Some((text, 0)));
    }
    let length = text.chars().count() as i128;
    let wrap = |index: i128| if index < 0 { (index + length).max(0) } else { index };
    let start = match bound.get_some(first) {
        Some(_) => wrap(bound.integer(first, 0)?),
        None => 0,
    };
    let stop = match bound.get_some(first + 1) {
        Some(_) => wrap(bound.integer(first + 1, 0)?).min(length),
        None => length,
    };
    if start > stop {
        return Ok(None);
    }
    let offset = |position: i128| {
        text.char_indices().nth(position as usize).map_or(text.len(), |(offset, _)| offset)
    };
    Ok(Some((&text[offset(start)..offset(stop)], start as usize)))
}

fn affix(text: &str, prefix: bool, arguments: &Arguments) -> Outcome<Value> {
    let function = if prefix { "startswith" } else { "endswith" };
    let bound = arguments.bind_positional(function, 3, 1)?;
    let choices: Vec<Arc<str>> = match bound.value(0) {
        Value::Str(part) => vec![part.text],
        Value::Tuple(items) => items
            .items
            .iter()
            .map(|item| match item {
                Value::Str(part) => Ok(part.text.clone()),
                _ => Err(type_error(format!("tuple for {function} must only contain str"))),
            })
            .collect::<Outcome<_>>()?,
        other => {
            return Err(type_error(format!(
                "{function} first arg must be str or a tuple of str, not {}",
                other.type_name()
            )))
        }
    };
    let Some((part, _)) = window(text, &bound, 1)? else {
        return Ok(Value::Bool(false));
    };
    let found = choices.iter().any(|choice| match prefix {
        true => part.starts_with(&**choice),
        false => part.ends_with(&**choice),
    });
    Ok(Value::Bool(found))
}

fn search(text: &str, name: &str, arguments: &Arguments) -> Outcome<Value> {
    let bound = arguments.bind_positional("find", 3, 1)?;
    let part = bound.required_text(0)?;
    let region = window(text, &bound, 1)?;
    if name == "count" {
        let count = match region {
            None => 0,
            Some((region, _)) if part.is_empty() => region.chars().count() + 1,
            Some((region, _)) => region.matches(&*part).count(),
        };
        return Ok(Value::Int(count as i128));
    }
    let found = region.and_then(|(region, before)| {
        let offset = if name.starts_with('r') { region.rfind(&*part) } else { region.find(&*part) };
        offset.map(|offset| (before + region[..offset].chars().count()) as i128)
    });
    match found {
        Some(position) => Ok(Value::Int(position)),
        None if name.ends_with("index") => Err(runtime("substring not found")),
        None => Ok(Value::Int(-1)),
    }
}

fn partition(text: &str, from_right: bool, arguments: &Arguments) -> Outcome<Value> {
    let separator = arguments.bind_positional("partition", 1, 1)?.required_text(0)?;
    if separator.is_empty() {
        return Err(runtime("empty separator"));
    }
    let found =
        if from_right { text.rsplit_once(&*separator) } else { text.split_once(&*separator) };
    let parts = match found {
        Some((before, after)) => [before, &*separator, after],
        None if from_right => ["", "", text],
        None => [text, "", ""],
    };
    Value::tuple(parts.into_iter().map(Value::text).collect())
}

fn join(receiver: &Text, arguments: &Arguments) -> Outcome<Value> {
    let items = arguments.bind_positional("join", 1, 1)?.value(0).iterate()?;
    let mut out = String::new();
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            out.push_str(&receiver.text);
        }
        match item {
            _ if receiver.markup => out.push_str(&escaped(item)?),
            Value::Str(text) => out.push_str(&text.text),
            _ => {
                return Err(type_error(format!(
                    "sequence item {position}: expected str instance, {} found",
                    item.type_name()
                )))
            }
        }
        check_length(out.len())?;
    }
    Ok(Value::marked(out, receiver.markup))
}

/// str.replace; a negative count replaces all.
pub fn replace(text: &str, old: &str, new: &str, count: i128) -> Outcome<String> {
    let most = if count < 0 { usize::MAX } else { usize::try_from(count).unwrap_or(usize::MAX) };
    let found = if old.is_empty() {
        text.chars().count() + 1
    } else if new.len() > old.len() {
        text.matches(old).count()
    } else {
        0
    };
    check_length(text.len().saturating_add(found.min(most).saturating_mul(new.len())))?;
    Ok(text.replacen(old, new, most))
}

fn pad(text: &str, name: &str, arguments: &Arguments) -> Outcome<Value> {
    if name == "expandtabs" {
        return expand_tabs(text, arguments);
    }
    let most = if name == "zfill" { 1 } else { 2 };
    let bound = arguments.bind_positional("center", most, 1)?;
    let width = usize::try_from(bound.integer(0, 0)?.max(0)).unwrap_or(usize::MAX);
    check_length(width)?;
    let length = text.chars().count();
    let missing = width.saturating_sub(length);
    if name == "zfill" {
        let sign = usize::from(text.starts_with(['+', '-']));
        return Ok(Value::string(format!(
            "{}{}{}",
            &text[..sign],
            "0".repeat(missing),
            &text[sign..]
        )));
    }
    let fill = bound.text(1)?.unwrap_or_else(|| Arc::from(" "));
    if fill.chars().count() != 1 {
        return Err(type_error("The fill character must be exactly one character long"));
    }
    check_length(width.saturating_mul(fill.len()))?;
    let left = match name {
        "ljust" => 0,
        "rjust" => missing,
        // CPython puts the odd blank to the left when the width is odd.
        _ => missing / 2 + (missing & width & 1),
    };
    Ok(Value::string(fill.repeat(left) + text + &fill.repeat(missing - left)))
}

fn expand_tabs(text: &str, arguments: &Arguments) -> Outcome<Value> {
    let size = arguments.bind("expandtabs", &["tabsize"], 0)?.integer(0, 8)?.max(0);
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    check_length(size.saturating_mul(text.matches('\t').count()))?;
    let mut out = String::new();
    let mut column = 0;
    for c in text.chars() {
        match c {
            '\t' if size > 0 => {
                let blanks = size - column % size;
                out.extend(std::iter::repeat_n(' ', blanks));
                column += blanks;
            }
            '\t' => {}
            '\n' | '\r' => {
                out.push(c);
                column = 0;
            }
            _ => {
                out.push(c);
                column += 1;
            }
        }
    }
    Ok(Value::string(out))
}

/// The filter escape.
pub fn to_markup(value: &Value) -> Outcome<Value> {
    Ok(match value {
        Value::Str(text) if text.markup => value.clone(),
        Value::Str(text) => Value::marked(escape(&text.text), true),
        _ => Value::marked(escaped(value)?, true),
    })
}
