//! Filters of text.

use std::sync::Arc;

use super::call::Arguments;
use super::error::{error, runtime, type_error, Kind, Outcome};
use super::percent::format_percent;
use super::text::{check_length, split_lines, to_text};
use super::text_methods::{call_text_method, replace};
use super::value::{Dict, Text, Value};

/// Nothing when no filter here has the name.
pub fn apply_text_filter(
    name: &str,
    value: &Value,
    arguments: &Arguments,
) -> Outcome<Option<Value>> {
    Ok(Some(match name {
        "upper" | "lower" | "capitalize" => call_text_method(&soft(value)?, name, arguments)?,
        "trim" => {
            let bound = arguments.bind("trim", &["chars"], 0)?;
            let chars = bound.get(0).cloned().into_iter().collect();
            call_text_method(&soft(value)?, "strip", &Arguments::of(chars))?
        }
        "center" => {
            let width = arguments.bind("center", &["width"], 0)?.integer(0, 80)?;
            call_text_method(&soft(value)?, "center", &Arguments::of(vec![Value::Int(width)]))?
        }
        "title" => {
            arguments.bind_positional("title", 0, 0)?;
            Value::string(title(&to_text(value)?))
        }
        "replace" => {
            let bound = arguments.bind("replace", &["old", "new", "count"], 2)?;
            let count = if bound.get_some(2).is_some() { bound.integer(2, -1)? } else { -1 };
            let (old, new) = (to_text(&bound.value(0))?, to_text(&bound.value(1))?);
            Value::string(replace(&to_text(value)?, &old, &new, count)?)
        }
        "indent" => indent(value, arguments)?,
        "truncate" => truncate(value, arguments)?,
        "format" => format(value, arguments)?,
        "wordcount" => {
            let text = to_text(value)?;
            let words = text.split(|c: char| c != '_' && !c.is_alphanumeric());
            Value::Int(words.filter(|word| !word.is_empty()).count() as i128)
        }
        "urlencode" => url_encode(value)?,
        "wordwrap" | "striptags" => {
            return Err(error(Kind::Unsupported, format!("the filter '{name}' is not supported")))
        }
        _ => return Ok(None),
    }))
}

/// markupsafe.soft_str: Markup stays Markup.
fn soft(value: &Value) -> Outcome<Text> {
    Ok(match value {
        Value::Str(text) => text.clone(),
        _ => Text { text: Arc::from(to_text(value)?), markup: false },
    })
}

/// A capital after blanks, hyphens and opening brackets only.
fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut first = true;
    for c in text.chars() {
        if first {
            out.extend(c.to_uppercase());
        } else {
            out.extend(c.to_lowercase());
        }
        first = super::lexer::is_space(c) || matches!(c, '-' | '(' | '{' | '[' | '<');
    }
    out
}

fn indent(value: &Value, arguments: &Arguments) -> Outcome<Value> {
    let bound = arguments.bind("indent", &["width", "first", "blank"], 0)?;
    let Value::Str(text) = value else {
        return Err(match value {
            Value::Undefined(undefined) => runtime(undefined.message.clone()),
            _ => type_error(format!("unsupported operand type(s) for +=: '{}'", value.type_name())),
        });
    };
    let indention = match bound.get(0) {
        Some(Value::Str(indention)) => indention.text.to_string(),
        _ => {
            let width = usize::try_from(bound.integer(0, 4)?.max(0)).unwrap_or(usize::MAX);
            check_length(width)?;
            " ".repeat(width)
        }
    };
    let (first, blank) = (bound.truth(1, false), bound.truth(2, false));
    let ended = format!("{}\n", text.text);
    let lines = split_lines(&ended, false);
    check_length(ended.len().saturating_add(lines.len().saturating_mul(indention.len())))?;
    let mut out = String::new();
    if first {
        out.push_str(&indention);
    }
    for (number, line) in lines.iter().enumerate() {
        if number > 0 {
            out.push('\n');
            if blank || !line.is_empty() {
                out.push_str(&indention);
            }
        }
        out.push_str(line);
    }
    Ok(Value::marked(out, text.markup))
}

fn truncate(value: &Value, arguments: &Arguments) -> Outcome<Value> {
    let bound = arguments.bind("truncate", &["length", "killwords", "end", "leeway"], 0)?;
    let end = bound.text(2)?.unwrap_or_else(|| Arc::from("..."));
    let length = bound.integer(0, 255)?;
    let leeway = if bound.get_some(3).is_some() { bound.integer(3, 5)? } else { 5 };
    let end_length = end.chars().count() as i128;
    if length < end_length || leeway < 0 {
        return Err(runtime(format!("expected length >= {end_length}, got {length}")));
    }
    match value.length() {
        None => {
            return Err(type_error(format!("object of type '{}' has no len()", value.type_name())))
        }
        Some(found) if (found as i128) <= length + leeway => return Ok(value.clone()),
        Some(_) => {}
    }
    let Value::Str(text) = value else {
        return Err(type_error(format!(
            "'{}' object has no attribute 'rsplit'",
            value.type_name()
        )));
    };
    let kept: String = text.text.chars().take((length - end_length) as usize).collect();
    let kept = match kept.rsplit_once(' ') {
        Some((before, _)) if !bound.truth(1, false) => before.to_string(),
        _ => kept,
    };
    Ok(Value::string(kept + &end))
}

fn format(value: &Value, arguments: &Arguments) -> Outcome<Value> {
    if !arguments.positional.is_empty() && !arguments.named.is_empty() {
        return Err(runtime("can't handle positional and keyword arguments at the same time"));
    }
    let operand = if arguments.named.is_empty() {
        Value::tuple(arguments.positional.clone())?
    } else {
        let mut dict = Dict::default();
        for (name, value) in &arguments.named {
            dict.insert(Value::text(name), value.clone());
        }
        Value::dict(dict)?
    };
    format_percent(&soft(value)?, &operand)
}

fn quote_url(value: &Value, query: bool) -> Outcome<String> {
    let mut out = String::new();
    for byte in to_text(value)?.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => {
                out.push(char::from(byte));
            }
            b'/' if !query => out.push('/'),
            b' ' if query => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(out)
}

fn url_encode(value: &Value) -> Outcome<Value> {
    let pairs = match value {
        Value::Dict(dict) => super::methods::pairs(dict)?,
        Value::Str(_) => return Ok(Value::string(quote_url(value, false)?)),
        _ if !value.iterable() => return Ok(Value::string(quote_url(value, false)?)),
        _ => value.iterate()?,
    };
    let mut parts = Vec::new();
    for pair in pairs {
        match &pair.iterate()?[..] {
            [key, value] => {
                parts.push(format!("{}={}", quote_url(key, true)?, quote_url(value, true)?));
            }
            _ => return Err(runtime("not a pair")),
        }
    }
    Ok(Value::string(parts.join("&")))
}
