//! str.format.

use super::attribute::{get_attribute, get_item};
use super::call::Arguments;
use super::error::{runtime, Outcome};
use super::number::{float_format, magnitude};
use super::text::{check_length, escaped, float_text, repr, to_text};
use super::value::{Number, Text, Value};

/// Replacement fields inside the specification of a field.
const FIELD_DEPTH_LIMIT: u32 = 2;

struct Formatter<'a> {
    arguments: &'a Arguments,
    markup: bool,
    automatic: usize,
}

pub fn format_braces(format: &Text, arguments: &Arguments) -> Outcome<Value> {
    let mut formatter = Formatter { arguments, markup: format.markup, automatic: 0 };
    let text = formatter.format(&format.text, FIELD_DEPTH_LIMIT)?;
    Ok(Value::marked(text, format.markup))
}

impl Formatter<'_> {
    fn format(&mut self, format: &str, depth: u32) -> Outcome<String> {
        if depth == 0 {
            return Err(runtime("Max string recursion exceeded"));
        }
        let mut out = String::new();
        let mut rest = format;
        while let Some(position) = rest.find(['{', '}']) {
            out.push_str(&rest[..position]);
            let tail = &rest[position..];
            if tail.starts_with("{{") || tail.starts_with("}}") {
                out.push_str(&tail[..1]);
                rest = &tail[2..];
                continue;
            }
            if tail.starts_with('}') {
                return Err(runtime("Single '}' encountered in format string"));
            }
            let end = field_end(tail)?;
            out.push_str(&self.field(&tail[1..end], depth)?);
            check_length(out.len())?;
            rest = &tail[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }

    fn field(&mut self, field: &str, depth: u32) -> Outcome<String> {
        let split = field.find([':', '!']).unwrap_or(field.len());
        let (name, rest) = field.split_at(split);
        let (conversion, spec) = match rest.strip_prefix('!') {
            Some(after) => {
                let letter = after.chars().next();
                let letter = letter.ok_or_else(|| runtime("unmatched '{' in format spec"))?;
                let spec = &after[letter.len_utf8()..];
                (Some(letter), spec.strip_prefix(':').unwrap_or(spec))
            }
            None => (None, rest.strip_prefix(':').unwrap_or(rest)),
        };
        let mut value = self.lookup(name)?;
        value = match conversion {
            None => value,
            Some('s') => Value::string(to_text(&value)?),
            Some('r' | 'a') => Value::string(repr(&value)?),
            Some(other) => {
                return Err(runtime(format!("Unknown conversion specifier {other}")));
            }
        };
        let spec = self.format(spec, depth - 1).or_else(|error| {
            if spec.contains(['{', '}']) {
                Err(error)
            } else {
                Ok(spec.to_string())
            }
        })?;
        if self.markup && spec.is_empty() {
            return escaped(&value);
        }
        format_value(&value, &spec)
    }

    fn lookup(&mut self, name: &str) -> Outcome<Value> {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (first, mut path) = name.split_at(end);
        let position = if first.is_empty() {
            self.automatic += 1;
            Some(self.automatic - 1)
        } else {
            first.parse::<usize>().ok()
        };
        let found = match position {
            Some(position) => self.arguments.positional.get(position),
            None => self.arguments.named.iter().find(|(n, _)| &**n == first).map(|(_, v)| v),
        };
        let mut value = found.cloned().ok_or_else(|| {
            runtime(match position {
                Some(_) => "Replacement index out of range for positional args tuple".to_string(),
                None => format!("'{first}'"),
            })
        })?;
        while !path.is_empty() {
            if let Some(after) = path.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                value = get_attribute(&value, &after[..end])?;
                path = &after[end..];
            } else {
                let end = path.find(']').ok_or_else(|| runtime("Missing ']' in format string"))?;
                let key = &path[1..end];
                let key = key.parse().map(Value::Int).unwrap_or_else(|_| Value::text(key));
                value = get_item(&value, &key)?;
                path = &path[end + 1..];
            }
        }
        Ok(value)
    }
}

fn field_end(text: &str) -> Outcome<usize> {
    let mut open = 0;
    for (position, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Ok(position);
        }
    }
    Err(runtime("expected '}' before end of string"))
}

struct Spec {
    fill: char,
    align: Option<char>,
    sign: char,
    alternate: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    letter: Option<char>,
}

fn parse_spec(text: &str) -> Outcome<Spec> {
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    let mut spec = Spec {
        fill: ' ',
        align: None,
        sign: '-',
        alternate: false,
        width: 0,
        grouping: None,
        precision: None,
        letter: None,
    };
    let is_align = |c: Option<&char>| matches!(c, Some('<' | '>' | '^' | '='));
    if is_align(chars.get(1)) {
        spec.fill = chars[0];
        spec.align = Some(chars[1]);
        at = 2;
    } else if is_align(chars.first()) {
        spec.align = Some(chars[0]);
        at = 1;
    }
    if let Some(&sign @ ('+' | '-' | ' ')) = chars.get(at) {
        spec.sign = sign;
        at += 1;
    }
    if chars.get(at) == Some(&'#') {
        spec.alternate = true;
        at += 1;
    }
    if chars.get(at) == Some(&'0') {
        if spec.align.is_none() {
            spec.fill = '0';
            spec.align = Some('=');
        }
        at += 1;
    }
    let number = |at: &mut usize| {
        let mut value: Option<usize> = None;
        while let Some(digit) = chars.get(*at).and_then(|c| c.to_digit(10)) {
            value = Some(value.unwrap_or(0).saturating_mul(10).saturating_add(digit as usize));
            *at += 1;
        }
        value
    };
    spec.width = number(&mut at).unwrap_or(0);
    if let Some(&grouping @ (',' | '_')) = chars.get(at) {
        spec.grouping = Some(grouping);
        at += 1;
    }
    if chars.get(at) == Some(&'.') {
        at += 1;
        let precision = number(&mut at);
        spec.precision =
            Some(precision.ok_or_else(|| runtime("Format specifier missing precision"))?);
    }
    spec.letter = chars.get(at).copied();
    if chars.len() > at + 1 {
        return Err(runtime("Invalid format specifier"));
    }
    check_length(spec.width.max(spec.precision.unwrap_or(0)))?;
    Ok(spec)
}

/// format(value, spec).
pub fn format_value(value: &Value, text: &str) -> Outcome<String> {
    if text.is_empty() {
        return to_text(value);
    }
    let spec = parse_spec(text)?;
    let number = match value {
        Value::Bool(_) if spec.letter.is_none() => None,
        _ => value.number(),
    };
    let (negative, body) = match number {
        Some(Number::Int(integer)) if spec.letter.is_none_or(|l| "bcdoxXn".contains(l)) => {
            if spec.precision.is_some() {
                return Err(runtime("Precision not allowed in integer format specifier"));
            }
            let letter = spec.letter.unwrap_or('d');
            let prefix = if spec.alternate && "boxX".contains(letter) {
                format!("0{letter}")
            } else {
                String::new()
            };
            let digits = grouped(&magnitude(integer, letter), spec.grouping);
            (integer < 0, prefix + &digits)
        }
        Some(number) if spec.letter.is_none_or(|l| "eEfFgG%".contains(l)) => {
            let float = number.float();
            let digits = match (spec.letter, spec.precision) {
                (None, None) => float_text(float.abs()),
                (letter, precision) => {
                    let letter = letter.unwrap_or('g');
                    float_format(float.abs(), letter, precision.unwrap_or(6), spec.alternate)?
                }
            };
            let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
            let percent = if spec.letter == Some('%') { "%" } else { "" };
            (float < 0.0, format!("{}{fraction}{percent}", grouped(whole, spec.grouping)))
        }
        Some(_) => return Err(runtime("Unknown format code for a number")),
        None => return format_text(value, &spec),
    };
    let sign = match (negative, spec.sign) {
        (true, _) => "-",
        (false, '+') => "+",
        (false, ' ') => " ",
        _ => "",
    };
    Ok(aligned(&spec, sign, &body, '>'))
}

fn format_text(value: &Value, spec: &Spec) -> Outcome<String> {
    if !matches!(value, Value::Str(_) | Value::Bool(_)) {
        return Err(runtime(format!(
            "unsupported format string passed to {}.__format__",
            value.type_name()
        )));
    }
    if spec.letter.is_some_and(|letter| letter != 's') {
        return Err(runtime("Unknown format code for object of type 'str'"));
    }
    if spec.align == Some('=') {
        return Err(runtime("'=' alignment not allowed in string format specifier"));
    }
    let text = to_text(value)?;
    let text = match spec.precision {
        Some(precision) => text.chars().take(precision).collect(),
        None => text,
    };
    Ok(aligned(spec, "", &text, '<'))
}

fn grouped(digits: &str, grouping: Option<char>) -> String {
    let Some(separator) = grouping else {
        return digits.to_string();
    };
    let mut out = String::new();
    for (position, c) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position) % 3 == 0 {
            out.push(separator);
        }
        out.push(c);
    }
    out
}

fn aligned(spec: &Spec, sign: &str, body: &str, default: char) -> String {
    let length = sign.len() + body.chars().count();
    let missing = spec.width.saturating_sub(length);
    let fill = |count: usize| std::iter::repeat_n(spec.fill, count).collect::<String>();
    match spec.align.unwrap_or(default) {
        '<' => format!("{sign}{body}{}", fill(missing)),
        '^' => format!("{}{sign}{body}{}", fill(missing / 2), fill(missing - missing / 2)),
        '=' => format!("{sign}{}{body}", fill(missing)),
        _ => format!("{}{sign}{body}", fill(missing)),
    }
}
