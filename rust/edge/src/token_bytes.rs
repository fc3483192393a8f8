//! The bytes that each token stands for, so that text is put together without the decoder.

use crate::abi::{Failure, Kind};
use serde_json::Value;

/// A tokenizer's decoder, as far as it acts on single tokens, and what it does to the start.
#[derive(Default)]
pub struct Decoding {
    byte_level: bool,
    byte_fallback: bool,
    replacements: Vec<(String, String)>,
    /// Spaces taken off the start of the whole text, at most.
    pub leading_spaces: u32,
}

impl Decoding {
    pub fn byte_level() -> Self {
        Decoding { byte_level: true, ..Default::default() }
    }
    pub fn sentence_piece(leading_spaces: u32) -> Self {
        Decoding {
            byte_fallback: true,
            replacements: vec![("\u{2581}".into(), " ".into())],
            leading_spaces,
            ..Default::default()
        }
    }

    /// Reads the `decoder` of a tokenizer.json; kinds that do not act token by token are refused.
    pub fn from_json(decoder: &Value) -> Result<Self, Failure> {
        let mut out = Decoding::default();
        if decoder.is_null() {
            return Err(unsupported("it has no decoder"));
        }
        let mut fused = false;
        for step in steps_of(decoder) {
            match step["type"].as_str().unwrap_or_default() {
                "ByteLevel" => out.byte_level = true,
                "ByteFallback" => out.byte_fallback = true,
                "Fuse" => fused = true,
                "Replace" => {
                    let (Some(from), Some(to)) =
                        (step["pattern"]["String"].as_str(), step["content"].as_str())
                    else {
                        return Err(unsupported("its decoder replaces by a regular expression"));
                    };
                    out.replacements.push((from.into(), to.into()));
                }
                "Strip" if fused && step["content"] == " " && step["stop"] == 0 => {
                    out.leading_spaces = step["start"].as_u64().unwrap_or(0).min(64) as u32;
                }
                "Metaspace" => {
                    let from = step["replacement"].as_str().unwrap_or("\u{2581}");
                    out.replacements.push((from.into(), " ".into()));
                    let never = step["prepend_scheme"] == "never";
                    out.leading_spaces = u32::from(!never);
                }
                other => return Err(unsupported(&format!("its decoder is {other:?}"))),
            }
        }
        Ok(out)
    }

    /// Appends the bytes of a token. `added` tokens stand for their own text.
    pub fn append(&self, token: &str, added: bool, out: &mut Vec<u8>) {
        if self.byte_level {
            let start = out.len();
            if added || !append_byte_level(token, out) {
                out.truncate(start);
                out.extend_from_slice(token.as_bytes());
            }
            return;
        }
        if let Some(byte) = self.fallback_byte(token) {
            out.push(byte);
            return;
        }
        let mut text = std::borrow::Cow::Borrowed(token);
        for (from, to) in &self.replacements {
            if text.contains(from.as_str()) {
                text = text.replace(from.as_str(), to).into();
            }
        }
        out.extend_from_slice(text.as_bytes());
    }

    /// The byte of a token spelled <0xNN>.
    pub fn fallback_byte(&self, token: &str) -> Option<u8> {
        if !self.byte_fallback || token.len() != 6 {
            return None;
        }
        let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
        u8::from_str_radix(digits, 16).ok()
    }
}

fn unsupported(why: &str) -> Failure {
    Failure::new(
        Kind::Unsupported,
        format!("this tokenizer cannot turn tokens into text here: {why}"),
    )
}

fn steps_of(decoder: &Value) -> Vec<&Value> {
    match decoder["decoders"].as_array() {
        Some(inner) if decoder["type"] == "Sequence" => inner.iter().flat_map(steps_of).collect(),
        _ => vec![decoder],
    }
}

/// The byte of a character of GPT-2's byte-level alphabet.
fn byte_of(c: char) -> Option<u8> {
    let c = c as u32;
    Some(match c {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => c as u8,
        0x100..=0x120 => (c - 0x100) as u8,
        0x121..=0x142 => (c - 0x121 + 0x7f) as u8,
        0x143 => 0xad,
        _ => return None,
    })
}

fn append_byte_level(token: &str, out: &mut Vec<u8>) -> bool {
    for c in token.chars() {
        match byte_of(c) {
            Some(byte) => out.push(byte),
            None => return false,
        }
    }
    true
}
