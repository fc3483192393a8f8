//! JSON text to values, as Python's json.loads: members keep their order, the last of equal keys
//! wins, integers stay integers.

use super::error::{error, Error, Kind, Outcome};
use super::value::{Dict, Value};

/// Arrays and objects inside each other in a request.
pub const JSON_DEPTH_LIMIT: u32 = 200;

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

pub fn read_json(text: &str) -> Outcome<Value> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_blanks();
    if reader.at < text.len() {
        return Err(reader.fail("text after the value"));
    }
    Ok(value)
}

impl Reader<'_> {
    fn fail(&self, what: &str) -> Error {
        error(Kind::Request, format!("JSON: {what} at byte {}", self.at))
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn skip(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let found = self.byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: u32) -> Outcome<Value> {
        if depth > JSON_DEPTH_LIMIT {
            return Err(self.fail("values nest too deep"));
        }
        self.skip_blanks();
        match self.byte() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Value::string(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                let words = [
                    ("null", Value::None),
                    ("true", Value::Bool(true)),
                    ("false", Value::Bool(false)),
                ];
                for (word, value) in words {
                    if self.text[self.at..].starts_with(word) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(self.fail("no value"))
            }
        }
    }

    fn object(&mut self, depth: u32) -> Outcome<Value> {
        self.at += 1;
        let mut dict = Dict::default();
        if self.skip(b'}') {
            return Value::dict(dict);
        }
        loop {
            self.skip_blanks();
            if self.byte() != Some(b'"') {
                return Err(self.fail("no member name"));
            }
            let key = Value::string(self.string()?);
            if !self.skip(b':') {
                return Err(self.fail("no colon"));
            }
            let value = self.value(depth + 1)?;
            dict.insert(key, value);
            if self.skip(b'}') {
                return Value::dict(dict);
            }
            if !self.skip(b',') {
                return Err(self.fail("no comma"));
            }
        }
    }

    fn array(&mut self, depth: u32) -> Outcome<Value> {
        self.at += 1;
        let mut items = Vec::new();
        if self.skip(b']') {
            return Value::list(items);
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.skip(b']') {
                return Value::list(items);
            }
            if !self.skip(b',') {
                return Err(self.fail("no comma"));
            }
        }
    }

    fn number(&mut self) -> Outcome<Value> {
        let begin = self.at;
        let bytes = self.text.as_bytes();
        let digits = |at: &mut usize| {
            let first = *at;
            while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                *at += 1;
            }
            *at > first
        };
        let mut at = begin + usize::from(bytes[begin] == b'-');
        let zero = bytes.get(at) == Some(&b'0');
        let first = at;
        if !digits(&mut at) || (zero && at > first + 1) {
            return Err(self.fail("a malformed number"));
        }
        let whole_end = at;
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            if !digits(&mut at) {
                return Err(self.fail("a malformed number"));
            }
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            if !digits(&mut at) {
                return Err(self.fail("a malformed number"));
            }
        }
        let text = &self.text[begin..at];
        let value = if at == whole_end {
            text.parse()
                .map(Value::Int)
                .map_err(|_| self.fail("an integer of more than 127 bits"))?
        } else {
            text.parse().map(Value::Float).map_err(|_| self.fail("a malformed number"))?
        };
        self.at = at;
        Ok(value)
    }

    fn string(&mut self) -> Outcome<String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let stop = rest.bytes().position(|b| b == b'"' || b == b'\\' || b < b' ');
            let stop = stop.ok_or_else(|| self.fail("an open string"))?;
            out.push_str(&rest[..stop]);
            self.at += stop + 1;
            match rest.as_bytes()[stop] {
                b'"' => return Ok(out),
                b'\\' => self.escape(&mut out)?,
                _ => return Err(self.fail("a control character in a string")),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Outcome<()> {
        let code = self.byte().ok_or_else(|| self.fail("an open string"))?;
        self.at += 1;
        out.push(match code {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let mut code = self.hex()?;
                let high = (0xd800..0xdc00).contains(&code);
                if high && self.text[self.at..].starts_with("\\u") {
                    self.at += 2;
                    let low = self.hex()?;
                    if (0xdc00..0xe000).contains(&low) {
                        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                    }
                }
                char::from_u32(code).ok_or_else(|| self.fail("half of a surrogate pair"))?
            }
            _ => return Err(self.fail("an unknown escape")),
        });
        Ok(())
    }

    fn hex(&mut self) -> Outcome<u32> {
        let digits = self.text.get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        value.ok_or_else(|| self.fail("a malformed escape"))
    }
}
