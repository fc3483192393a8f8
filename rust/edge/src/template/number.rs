//! Numbers as Python prints, formats and parses them.

use super::error::{runtime, Outcome};
use super::lexer::is_space;
use super::text::check_length;

/// "%e" with at least two exponent digits.
pub fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(rest) => ('-', rest),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

/// "%g": the shorter of fixed and scientific, without trailing zeros unless `alternate`.
pub fn general(value: f64, precision: usize, alternate: bool) -> String {
    let precision = precision.max(1);
    let rounded = format!("{value:.*e}", precision - 1);
    let exponent: i64 =
        rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let places = precision as i64;
    let text = if exponent < -4 || exponent >= places {
        scientific(value, precision - 1)
    } else {
        format!("{value:.*}", (places - 1 - exponent).max(0) as usize)
    };
    if alternate || !text.contains('.') {
        return text;
    }
    let (digits, exponent) = match text.find('e') {
        Some(position) => text.split_at(position),
        None => (&text[..], ""),
    };
    format!("{}{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// A float by a conversion letter of eEfFgG%; infinities and NaN as words.
pub fn float_format(
    value: f64,
    letter: char,
    precision: usize,
    alternate: bool,
) -> Outcome<String> {
    check_length(precision)?;
    let mut text = if value.is_nan() {
        "nan".to_string()
    } else if value.is_infinite() {
        if value > 0.0 { "inf" } else { "-inf" }.to_string()
    } else {
        match letter.to_ascii_lowercase() {
            'e' => scientific(value, precision),
            'f' => format!("{value:.precision$}"),
            '%' => format!("{:.precision$}", value * 100.0),
            _ => general(value, precision, alternate),
        }
    };
    if letter.is_ascii_uppercase() {
        text = text.to_uppercase();
    }
    Ok(text)
}

/// An int in radix 2, 8, 10 or 16 without a sign.
pub fn magnitude(value: i128, letter: char) -> String {
    let value = value.unsigned_abs();
    match letter {
        'b' => format!("{value:b}"),
        'o' => format!("{value:o}"),
        'x' => format!("{value:x}"),
        'X' => format!("{value:X}"),
        _ => value.to_string(),
    }
}

/// Digits with single underscores between them removed, or nothing when they are elsewhere.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    for (position, &byte) in bytes.iter().enumerate() {
        if byte == b'_' {
            let before = position.checked_sub(1).and_then(|p| bytes.get(p));
            let between = before.is_some_and(u8::is_ascii_alphanumeric)
                && bytes.get(position + 1).is_some_and(u8::is_ascii_alphanumeric);
            if !between {
                return None;
            }
        }
    }
    Some(text.replace('_', ""))
}

/// int(text, base); nothing for a ValueError.
pub fn parse_int(text: &str, base: u32) -> Option<i128> {
    let text = text.trim_matches(is_space);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (prefix, radix) = match lower.get(..2) {
        Some("0x") => (2, 16),
        Some("0o") => (2, 8),
        Some("0b") => (2, 2),
        _ => (0, 10),
    };
    let (digits, base) = if prefix > 0 && (base == 0 || base == radix) {
        let rest = &lower[2..];
        (rest.strip_prefix('_').unwrap_or(rest), radix)
    } else {
        (&lower[..], if base == 0 { 10 } else { base })
    };
    if !(2..=36).contains(&base) || digits.starts_with(['+', '-']) {
        return None;
    }
    let value = i128::from_str_radix(&without_underscores(digits)?, base).ok()?;
    Some(if negative { -value } else { value })
}

/// float(text); nothing for a ValueError.
pub fn parse_float(text: &str) -> Option<f64> {
    let text = without_underscores(text.trim_matches(is_space))?.to_ascii_lowercase();
    let bare = text.trim_start_matches(['+', '-']);
    let known = matches!(bare, "inf" | "infinity" | "nan");
    if !known && !bare.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    text.parse().ok()
}

/// round(value, digits) of a float.
pub fn round(value: f64, digits: i128) -> f64 {
    if !value.is_finite() || digits > 320 {
        return value;
    }
    if digits >= 0 {
        return format!("{value:.*}", digits as usize).parse().unwrap_or(value);
    }
    if digits < -320 {
        return 0.0 * value;
    }
    let scale = 10f64.powi(-digits as i32);
    let scaled = value / scale;
    let whole = scaled.round();
    let tied = (scaled - scaled.trunc()).abs() == 0.5;
    let rounded = if tied { 2.0 * (scaled / 2.0).round() } else { whole };
    rounded * scale
}

/// int(value) of a float.
pub fn truncate(value: f64) -> Outcome<i128> {
    if value.is_nan() {
        return Err(runtime("cannot convert float NaN to integer"));
    }
    if value.abs() >= 1.7e38 {
        return Err(runtime("cannot convert this float to an integer"));
    }
    Ok(value.trunc() as i128)
}
