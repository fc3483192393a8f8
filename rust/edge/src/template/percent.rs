//! The "%" operator of strings: printf formatting.

use super::error::{runtime, type_error, Outcome};
use super::number::{float_format, magnitude, truncate};
use super::text::{check_length, escaped, repr, to_text};
use super::value::{Number, Text, Value};

#[derive(Default)]
struct Spec {
    left: bool,
    zero: bool,
    sign: bool,
    blank: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

struct Operands<'a> {
    values: &'a [Value],
    used: usize,
}

impl Operands<'_> {
    fn next(&mut self) -> Outcome<Value> {
        let value = self.values.get(self.used).cloned();
        self.used += 1;
        value.ok_or_else(|| type_error("not enough arguments for format string"))
    }
}

pub fn format_percent(format: &Text, operand: &Value) -> Outcome<Value> {
    let single = [operand.clone()];
    let values = match operand {
        Value::Tuple(items) => &items.items[..],
        _ => &single[..],
    };
    let mut operands = Operands { values, used: 0 };
    let mut mapped = false;
    let mut out = String::new();
    let mut chars = format.text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut key_value = None;
        if chars.peek() == Some(&'(') {
            chars.next();
            let key = parenthesised(&mut chars)?;
            let Value::Dict(dict) = operand else {
                return Err(type_error("format requires a mapping"));
            };
            mapped = true;
            let found = dict.get_text(&key).cloned();
            key_value = Some(found.ok_or_else(|| runtime(format!("'{key}'")))?);
        }
        let spec = parse_spec(&mut chars, &mut operands)?;
        let letter = chars.next().ok_or_else(|| runtime("incomplete format"))?;
        if letter == '%' {
            out.push('%');
            continue;
        }
        let value = match key_value {
            Some(value) => value,
            None => operands.next()?,
        };
        let text = convert(&spec, letter, &value, format.markup)?;
        pad(&mut out, &spec, &text, letter)?;
        check_length(out.len())?;
    }
    let indexable =
        matches!(operand, Value::Dict(_) | Value::List(_) | Value::Range(_) | Value::Undefined(_));
    let dict_is_fine = indexable && operands.used == 0;
    if !mapped && operands.used < values.len() && !dict_is_fine {
        return Err(type_error("not all arguments converted during string formatting"));
    }
    Ok(Value::marked(out, format.markup))
}

fn parenthesised(chars: &mut std::iter::Peekable<std::str::Chars>) -> Outcome<String> {
    let mut key = String::new();
    let mut open = 1;
    for c in chars.by_ref() {
        match c {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Ok(key);
        }
        key.push(c);
    }
    Err(runtime("incomplete format key"))
}

fn parse_spec(
    chars: &mut std::iter::Peekable<std::str::Chars>,
    operands: &mut Operands,
) -> Outcome<Spec> {
    let mut spec = Spec::default();
    while let Some(flag) = chars.peek() {
        match flag {
            '-' => spec.left = true,
            '0' => spec.zero = true,
            '+' => spec.sign = true,
            ' ' => spec.blank = true,
            '#' => spec.alternate = true,
            _ => break,
        }
        chars.next();
    }
    let width = count(chars, operands)?;
    if let Some(width) = width {
        spec.left = spec.left || width < 0;
        spec.width = width.unsigned_abs() as usize;
    }
    if chars.peek() == Some(&'.') {
        chars.next();
        let precision = count(chars, operands)?.unwrap_or(0);
        spec.precision = Some(precision.max(0) as usize);
    }
    while matches!(chars.peek(), Some('h' | 'l' | 'L')) {
        chars.next();
    }
    check_length(spec.width.max(spec.precision.unwrap_or(0)))?;
    Ok(spec)
}

fn count(
    chars: &mut std::iter::Peekable<std::str::Chars>,
    operands: &mut Operands,
) -> Outcome<Option<i64>> {
    if chars.peek() == Some(&'*') {
        chars.next();
        let value = operands.next()?.integer().ok_or_else(|| type_error("* wants int"))?;
        return Ok(Some(i64::try_from(value).map_err(|_| runtime("width too big"))?));
    }
    let mut value: Option<i64> = None;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        value = Some((value.unwrap_or(0) * 10 + i64::from(digit)).min(i64::from(u32::MAX)));
        chars.next();
    }
    Ok(value)
}

fn convert(spec: &Spec, letter: char, value: &Value, markup: bool) -> Outcome<String> {
    let clipped = |text: String| match spec.precision {
        Some(precision) => text.chars().take(precision).collect(),
        None => text,
    };
    match letter {
        's' if markup => Ok(clipped(escaped(value)?)),
        's' => Ok(clipped(to_text(value)?)),
        'r' | 'a' => Ok(clipped(repr(value)?)),
        'c' => match value {
            Value::Str(text) if text.text.chars().count() == 1 => Ok(text.text.to_string()),
            Value::Int(code) => u32::try_from(*code)
                .ok()
                .and_then(char::from_u32)
                .map(String::from)
                .ok_or_else(|| runtime("%c arg not in range(0x110000)")),
            _ => Err(type_error("%c requires int or char")),
        },
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' => integer(spec, letter, value),
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            let number = match value {
                Value::Undefined(undefined) => return Err(runtime(undefined.message.clone())),
                _ => value.number(),
            };
            let Some(number) = number else {
                return Err(type_error(format!("must be real number, not {}", value.type_name())));
            };
            let precision = spec.precision.unwrap_or(6);
            let text = float_format(number.float(), letter, precision, spec.alternate)?;
            Ok(signed(spec, number.float() < 0.0, text.trim_start_matches('-')))
        }
        _ => Err(runtime(format!("unsupported format character '{letter}'"))),
    }
}

fn integer(spec: &Spec, letter: char, value: &Value) -> Outcome<String> {
    let integer = match value.number() {
        Some(Number::Int(value)) => value,
        Some(Number::Float(value)) if matches!(letter, 'd' | 'i' | 'u') => truncate(value)?,
        _ => {
            return Err(type_error(format!(
                "%{letter} format: a real number is required, not {}",
                value.type_name()
            )))
        }
    };
    let digits = magnitude(integer, letter);
    let digits = format!("{digits:0>width$}", width = spec.precision.unwrap_or(0));
    let prefix = match letter {
        'x' if spec.alternate => "0x",
        'X' if spec.alternate => "0X",
        'o' if spec.alternate => "0o",
        _ => "",
    };
    Ok(signed(spec, integer < 0, &format!("{prefix}{digits}")))
}

fn signed(spec: &Spec, negative: bool, text: &str) -> String {
    let sign = if negative {
        "-"
    } else if spec.sign {
        "+"
    } else if spec.blank {
        " "
    } else {
        ""
    };
    format!("{sign}{text}")
}

fn pad(out: &mut String, spec: &Spec, text: &str, letter: char) -> Outcome<()> {
    let missing = spec.width.saturating_sub(text.chars().count());
    let numeric = !matches!(letter, 's' | 'r' | 'a' | 'c');
    if spec.left {
        out.push_str(text);
        out.extend(std::iter::repeat_n(' ', missing));
    } else if spec.zero && numeric {
        let sign = text.len() - text.trim_start_matches(['-', '+', ' ']).len();
        out.push_str(&text[..sign]);
        out.extend(std::iter::repeat_n('0', missing));
        out.push_str(&text[sign..]);
    } else {
        out.extend(std::iter::repeat_n(' ', missing));
        out.push_str(text);
    }
    Ok(())
}
