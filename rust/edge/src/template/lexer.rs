//! Tokens of a template, with jinja2's rules for blanks (trim_blocks and lstrip_blocks set).

use std::sync::Arc;

use super::error::{error, Error, Kind, Outcome};

#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    Data(Arc<str>),
    VariableBegin,
    VariableEnd,
    BlockBegin,
    BlockEnd,
    Name(Arc<str>),
    Str(Arc<str>),
    Int(i128),
    Float(f64),
    Operator(&'static str),
    End,
}

pub struct Lexed {
    pub token: Token,
    pub line: u32,
}

/// Longest first.
const OPERATORS: [&str; 27] = [
    "**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
    ">", "<", "=", ".", ":", "|", ",", ";", "!",
];

pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    line: u32,
    tokens: Vec<Lexed>,
    line_starting: bool,
}

pub fn tokenize(source: &str) -> Outcome<Vec<Lexed>> {
    let mut normal = source.replace("\r\n", "\n").replace('\r', "\n");
    if normal.ends_with('\n') {
        normal.pop();
    }
    let mut lexer =
        Lexer { source: &normal, at: 0, line: 1, tokens: Vec::new(), line_starting: true };
    lexer.run()?;
    Ok(lexer.tokens)
}

impl<'a> Lexer<'a> {
    fn fail(&self, message: impl Into<String>) -> Error {
        Error { line: self.line, ..error(Kind::Syntax, message) }
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn push(&mut self, token: Token) {
        self.tokens.push(Lexed { token, line: self.line });
    }

    fn advance(&mut self, bytes: usize) {
        let passed = &self.source[self.at..self.at + bytes];
        self.line += passed.bytes().filter(|&b| b == b'\n').count() as u32;
        self.line_starting = passed.ends_with('\n');
        self.at += bytes;
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        let length = rest.len() - rest.trim_start_matches(is_space).len();
        if length > 0 {
            self.advance(length);
        }
    }

    fn run(&mut self) -> Outcome<()> {
        while self.at < self.source.len() {
            let rest = self.rest();
            let Some(offset) = find_begin(rest) else {
                self.push(Token::Data(Arc::from(rest)));
                self.advance(rest.len());
                break;
            };
            let opening = &rest[offset..offset + 2];
            let sign = match rest.as_bytes().get(offset + 2) {
                Some(b'-') => '-',
                Some(b'+') => '+',
                _ => ' ',
            };
            let text = self.stripped(&rest[..offset], sign, opening != "{{");
            if !text.is_empty() {
                self.push(Token::Data(Arc::from(text)));
            }
            let raw = if opening == "{%" { raw_begin(&rest[offset..]) } else { None };
            if let Some(length) = raw {
                self.advance(offset + length);
                self.raw()?;
                continue;
            }
            self.advance(offset + if sign == ' ' { 2 } else { 3 });
            match opening {
                "{#" => self.comment()?,
                "{%" => {
                    self.push(Token::BlockBegin);
                    self.code("%}", Token::BlockEnd)?;
                }
                _ => {
                    self.push(Token::VariableBegin);
                    self.code("}}", Token::VariableEnd)?;
                }
            }
        }
        self.push(Token::End);
        Ok(())
    }

    fn stripped(&self, text: &'a str, sign: char, lstrip: bool) -> &'a str {
        if sign == '-' {
            return text.trim_end_matches(is_space);
        }
        if sign == '+' || !lstrip {
            return text;
        }
        let line_begin = text.rfind('\n').map_or(0, |position| position + 1);
        if line_begin == 0 && !self.line_starting {
            return text;
        }
        if text[line_begin..].chars().all(is_space) {
            &text[..line_begin]
        } else {
            text
        }
    }

    /// Passes "-%}" with the blanks after it, "+%}", or "%}" with one newline; `end` is "%}" or "#}".
    fn pass_block_end(&mut self, end: &str) -> bool {
        let rest = self.rest();
        if rest.starts_with('-') && rest[1..].starts_with(end) {
            self.advance(3);
            self.skip_spaces();
        } else if rest.starts_with('+') && rest[1..].starts_with(end) {
            self.advance(3);
        } else if let Some(after) = rest.strip_prefix(end) {
            self.advance(2 + usize::from(after.starts_with('\n')));
        } else {
            return false;
        }
        true
    }

    fn comment(&mut self) -> Outcome<()> {
        let Some(end) = self.rest().find("#}") else {
            return Err(self.fail("Missing end of comment tag"));
        };
        let before = self.rest()[..end].chars().next_back();
        let signed = end > 0 && matches!(before, Some('-' | '+'));
        self.advance(if signed { end - 1 } else { end });
        self.pass_block_end("#}");
        Ok(())
    }

    fn raw(&mut self) -> Outcome<()> {
        let rest = self.rest();
        let mut from = 0;
        while let Some(found) = rest[from..].find("{%") {
            let begin = from + found;
            let mut tail = &rest[begin + 2..];
            let sign = match tail.as_bytes().first() {
                Some(b'-') => '-',
                Some(b'+') => '+',
                _ => ' ',
            };
            if sign != ' ' {
                tail = &tail[1..];
            }
            let name = tail.trim_start_matches(is_space);
            if let Some(after) = name.strip_prefix("endraw") {
                let end = after.trim_start_matches(is_space);
                if end.starts_with("%}") || end.starts_with("-%}") || end.starts_with("+%}") {
                    let text = self.stripped(&rest[..begin], sign, true);
                    if !text.is_empty() {
                        self.push(Token::Data(Arc::from(text)));
                    }
                    self.advance(rest.len() - end.len());
                    self.pass_block_end("%}");
                    return Ok(());
                }
            }
            from = begin + 2;
        }
        Err(self.fail("Missing end of raw directive"))
    }

    fn code(&mut self, end: &str, end_token: Token) -> Outcome<()> {
        let mut open: Vec<char> = Vec::new();
        loop {
            if open.is_empty() {
                let line = self.line;
                if end == "%}" {
                    if self.pass_block_end(end) {
                        self.tokens.push(Lexed { token: end_token, line });
                        return Ok(());
                    }
                } else if self.rest().starts_with("-}}") {
                    self.advance(3);
                    self.skip_spaces();
                    self.tokens.push(Lexed { token: end_token, line });
                    return Ok(());
                } else if self.rest().starts_with("}}") {
                    self.advance(2);
                    self.tokens.push(Lexed { token: end_token, line });
                    return Ok(());
                }
            }
            let Some(c) = self.rest().chars().next() else {
                // jinja2's parser reports the missing end.
                return Ok(());
            };
            if is_space(c) {
                self.skip_spaces();
            } else if c.is_ascii_digit() {
                self.number()?;
            } else if c == '_' || c.is_alphanumeric() {
                self.name(c)?;
            } else if c == '"' || c == '\'' {
                self.string(c)?;
            } else {
                self.operator(c, &mut open)?;
            }
        }
    }

    fn operator(&mut self, c: char, open: &mut Vec<char>) -> Outcome<()> {
        let rest = self.rest();
        let Some(&operator) = OPERATORS.iter().find(|operator| rest.starts_with(**operator)) else {
            return Err(self.fail(format!("unexpected char '{c}' at {}", self.at)));
        };
        if operator == "!" {
            return Err(self.fail(format!("unexpected char '!' at {}", self.at)));
        }
        match operator {
            "(" => open.push(')'),
            "[" => open.push(']'),
            "{" => open.push('}'),
            ")" | "]" | "}" => match open.pop() {
                None => return Err(self.fail(format!("unexpected '{operator}'"))),
                Some(expected) if !operator.starts_with(expected) => {
                    let message = format!("unexpected '{operator}', expected '{expected}'");
                    return Err(self.fail(message));
                }
                Some(_) => {}
            },
            _ => {}
        }
        self.push(Token::Operator(operator));
        self.advance(operator.len());
        Ok(())
    }

    fn name(&mut self, first: char) -> Outcome<()> {
        let rest = self.rest();
        let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
        if first != '_' && !first.is_alphabetic() {
            return Err(self.fail("Invalid character in identifier"));
        }
        self.push(Token::Name(Arc::from(&rest[..end])));
        self.advance(end);
        Ok(())
    }

    fn number(&mut self) -> Outcome<()> {
        let rest = self.rest();
        let after_dot = self.at > 0 && self.source.as_bytes()[self.at - 1] == b'.';
        if !after_dot {
            if let Some(length) = float_length(rest) {
                let value = rest[..length].replace('_', "").parse::<f64>();
                let value = value.map_err(|_| self.fail("invalid float literal"))?;
                self.push(Token::Float(value));
                self.advance(length);
                return Ok(());
            }
        }
        let (length, radix) = integer_length(rest);
        let digits = rest[..length].replace('_', "");
        let digits = if radix == 10 { &digits[..] } else { &digits[2..] };
        let value = i128::from_str_radix(digits, radix)
            .map_err(|_| self.fail("an integer literal of more than 127 bits"))?;
        self.push(Token::Int(value));
        self.advance(length);
        Ok(())
    }

    fn string(&mut self, quote: char) -> Outcome<()> {
        let rest = self.rest();
        let mut escaped = false;
        for (position, c) in rest.char_indices().skip(1) {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == quote {
                let text = unescape(&rest[1..position]).map_err(|message| self.fail(message))?;
                self.push(Token::Str(Arc::from(text)));
                self.advance(position + 1);
                return Ok(());
            }
        }
        Err(self.fail(format!("unexpected char '{quote}' at {}", self.at)))
    }
}

fn find_begin(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len().saturating_sub(1))
        .find(|&i| bytes[i] == b'{' && matches!(bytes[i + 1], b'{' | b'%' | b'#'))
}

/// Length of "{% raw %}" with its signs when the text begins with it.
fn raw_begin(text: &str) -> Option<usize> {
    let after = text[2..].strip_prefix(['-', '+']).unwrap_or(&text[2..]);
    let after = after.trim_start_matches(is_space).strip_prefix("raw")?;
    let after = after.trim_start_matches(is_space);
    if let Some(end) = after.strip_prefix("-%}") {
        return Some(text.len() - end.trim_start_matches(is_space).len());
    }
    after.strip_prefix("%}").map(|end| text.len() - end.len())
}

/// Digits with single underscores between them.
fn digits_length(text: &[u8], is_digit: fn(&u8) -> bool) -> usize {
    let mut length = 0;
    while length < text.len() {
        if is_digit(&text[length]) {
            length += 1;
        } else if text[length] == b'_' && length > 0 && text.get(length + 1).is_some_and(is_digit) {
            length += 2;
        } else {
            break;
        }
    }
    length
}

fn float_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let whole = digits_length(bytes, u8::is_ascii_digit);
    let mut length = whole;
    if bytes.get(length) == Some(&b'.') {
        let fraction = digits_length(&bytes[length + 1..], u8::is_ascii_digit);
        if fraction > 0 {
            length += 1 + fraction;
        }
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent =
            digits_length(&bytes[(length + 1 + sign).min(bytes.len())..], u8::is_ascii_digit);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    (length > whole).then_some(length)
}

fn integer_length(text: &str) -> (usize, u32) {
    let bytes = text.as_bytes();
    if bytes[0] == b'0' {
        let (radix, is_digit): (u32, fn(&u8) -> bool) = match bytes.get(1) {
            Some(b'b' | b'B') => (2, |b| matches!(b, b'0' | b'1')),
            Some(b'o' | b'O') => (8, |b| matches!(b, b'0'..=b'7')),
            Some(b'x' | b'X') => (16, u8::is_ascii_hexdigit),
            _ => return (digits_length(bytes, |b| *b == b'0'), 10),
        };
        let lead = usize::from(bytes.get(2) == Some(&b'_'));
        let length = digits_length(&bytes[(2 + lead).min(bytes.len())..], is_digit);
        return if length > 0 { (2 + lead + length, radix) } else { (1, 10) };
    }
    (digits_length(bytes, u8::is_ascii_digit), 10)
}

/// Python's unicode-escape.
fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(code) = chars.next() else {
            return Err("a string that ends in a backslash".to_string());
        };
        let hex_digits = match code {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        match code {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(code),
            'a' => out.push('\u{7}'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\u{b}'),
            '0'..='7' => {
                let mut value = code as u32 - 48;
                for _ in 0..2 {
                    match chars.peek() {
                        Some(&d @ '0'..='7') => {
                            value = value * 8 + (d as u32 - 48);
                            chars.next();
                        }
                        _ => break,
                    }
                }
                out.push(char::from_u32(value).unwrap_or('\u{fffd}'));
            }
            'x' | 'u' | 'U' => {
                let mut value = 0u32;
                for _ in 0..hex_digits {
                    let digit = chars.next().and_then(|d| d.to_digit(16));
                    let digit = digit.ok_or("a truncated hexadecimal escape in a string")?;
                    value = value.wrapping_mul(16).wrapping_add(digit);
                }
                out.push(char::from_u32(value).ok_or("a string escape outside of Unicode")?);
            }
            'N' => return Err("\\N{...} in a string is not supported".to_string()),
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    Ok(out)
}
