//! str() and repr() of values, as Python prints them.

use std::fmt::Write;

use super::error::{limit, Outcome};
use super::gen::printable::UNPRINTABLE;
use super::value::{Dict, Value, ViewKind};

/// One string of a template; far above any context window.
pub const STRING_LIMIT: usize = 64 << 20;

pub fn check_length(bytes: usize) -> Outcome<()> {
    if bytes > STRING_LIMIT {
        return Err(limit(format!("a string of more than {STRING_LIMIT} bytes")));
    }
    Ok(())
}

/// repr() of a float: the shortest digits that read back, an exponent below 1e-4 and from 1e16.
pub fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_string();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let mut plain = format!("{value}");
        if !plain.contains('.') {
            plain.push_str(".0");
        }
        return plain;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// str(): what a template prints.
pub fn to_text(value: &Value) -> Outcome<String> {
    let mut out = String::new();
    write_text(&mut out, value)?;
    Ok(out)
}

pub fn write_text(out: &mut String, value: &Value) -> Outcome<()> {
    match value {
        Value::Str(text) => {
            check_length(out.len() + text.text.len())?;
            out.push_str(&text.text);
            Ok(())
        }
        Value::Undefined(_) => Ok(()),
        _ => write_repr(out, value),
    }
}

pub fn repr(value: &Value) -> Outcome<String> {
    let mut out = String::new();
    write_repr(&mut out, value)?;
    Ok(out)
}

pub fn write_repr(out: &mut String, value: &Value) -> Outcome<()> {
    check_length(out.len())?;
    match value {
        Value::Undefined(_) => out.push_str("Undefined"),
        Value::None => out.push_str("None"),
        Value::Bool(value) => out.push_str(if *value { "True" } else { "False" }),
        Value::Int(value) => {
            let _ = write!(out, "{value}");
        }
        Value::Float(value) => out.push_str(&float_text(*value)),
        Value::Str(text) if text.markup => {
            out.push_str("Markup(");
            quote(out, &text.text);
            out.push(')');
        }
        Value::Str(text) => quote(out, &text.text),
        Value::List(items) => write_items(out, "[", &items.items, "]")?,
        Value::Tuple(items) => {
            write_items(out, "(", &items.items, if items.items.len() == 1 { ",)" } else { ")" })?;
        }
        Value::Dict(dict) => write_dict(out, dict)?,
        Value::View(kind, items) => {
            out.push_str(match kind {
                ViewKind::Keys => "dict_keys",
                ViewKind::Values => "dict_values",
                ViewKind::Items => "dict_items",
            });
            write_items(out, "([", &items.items, "])")?;
        }
        Value::Range(range) if range.step == 1 => {
            let _ = write!(out, "range({}, {})", range.start, range.stop);
        }
        Value::Range(range) => {
            let _ = write!(out, "range({}, {}, {})", range.start, range.stop, range.step);
        }
        Value::Namespace(names) => {
            let names = names.try_borrow().map_err(|_| limit("a namespace that holds itself"))?;
            if out.len() > STRING_LIMIT / 2 || namespace_holds_namespace(&names) {
                return Err(limit("printing a namespace inside a namespace"));
            }
            out.push_str("<Namespace ");
            write_dict(out, &names)?;
            out.push('>');
        }
        Value::Macro(node) => match &node.node.name {
            Some(name) => {
                let _ = write!(out, "<Macro '{name}'>");
            }
            None => out.push_str("<Macro anonymous>"),
        },
        Value::Loop(state) => {
            let length = state.items.items.len();
            let _ = write!(out, "<LoopContext {}/{length}>", state.index0.get() + 1);
        }
        // Python prints an address here, so nobody can compare it.
        other => {
            let _ = write!(out, "<{} object>", other.type_name());
        }
    }
    Ok(())
}

fn namespace_holds_namespace(names: &Dict) -> bool {
    names.entries.iter().any(|(_, value)| !is_plain(value))
}

/// Nothing inside leads back to a namespace.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Namespace(_) => false,
        Value::List(items) | Value::Tuple(items) | Value::View(_, items) => {
            items.items.iter().all(is_plain)
        }
        Value::Dict(dict) => dict.entries.iter().all(|(_, value)| is_plain(value)),
        _ => true,
    }
}

fn write_items(out: &mut String, open: &str, items: &[Value], close: &str) -> Outcome<()> {
    out.push_str(open);
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            out.push_str(", ");
        }
        write_repr(out, item)?;
    }
    out.push_str(close);
    Ok(())
}

fn write_dict(out: &mut String, dict: &Dict) -> Outcome<()> {
    out.push('{');
    for (position, (key, value)) in dict.entries.iter().enumerate() {
        if position > 0 {
            out.push_str(", ");
        }
        write_repr(out, key)?;
        out.push_str(": ");
        write_repr(out, value)?;
    }
    out.push('}');
    Ok(())
}

pub fn is_printable(c: char) -> bool {
    let code = c as u32;
    UNPRINTABLE
        .binary_search_by(|&(first, last)| {
            if last < code {
                std::cmp::Ordering::Less
            } else if first > code {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_err()
}

/// repr() of a string.
pub fn quote(out: &mut String, text: &str) {
    let mark = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(mark);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if c == mark => {
                out.push('\\');
                out.push(c);
            }
            _ if is_printable(c) => out.push(c),
            _ => {
                let code = c as u32;
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(mark);
}

/// markupsafe.escape of plain text.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            _ => out.push(c),
        }
    }
    out
}

/// The text of a value inside Markup: escaped unless it is Markup itself.
pub fn escaped(value: &Value) -> Outcome<String> {
    match value {
        Value::Str(text) if text.markup => Ok(text.text.to_string()),
        _ => Ok(escape(&to_text(value)?)),
    }
}

/// str.splitlines without the line ends, or with them.
pub fn split_lines(text: &str, keep_ends: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut begin = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((position, c)) = chars.next() {
        let breaks = matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        );
        if !breaks {
            continue;
        }
        let mut end = position + c.len_utf8();
        if c == '\r' && chars.peek().is_some_and(|&(_, next)| next == '\n') {
            chars.next();
            end += 1;
        }
        lines.push(&text[begin..if keep_ends { end } else { position }]);
        begin = end;
    }
    if begin < text.len() {
        lines.push(&text[begin..]);
    }
    lines
}

/// str.title: a capital after everything that has no case.
pub fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        let cased = c.is_lowercase() || c.is_uppercase();
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        inside = cased;
    }
    out
}

pub fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().collect::<String>() + &chars.as_str().to_lowercase(),
        None => String::new(),
    }
}
