//! Reads a tokenizer.json: its small parts with the crate's own types, a byte-pair model straight
//! into the tables of `bpe`, any other model with the crate.

use crate::abi::Failure;
use crate::bpe::{Bpe, Merges, Spellings};
use crate::token_bytes::Decoding;
use crate::tokenizer::{AnyModel, EdgeTokenizer, Parts};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use tokenizers::{AddedToken, ModelWrapper, NormalizerWrapper, PreTokenizerWrapper};

#[derive(Deserialize)]
struct File<'a> {
    version: Option<String>,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
    #[serde(default)]
    post_processor: Value,
    #[serde(default)]
    decoder: Value,
    #[serde(borrow)]
    model: &'a RawValue,
}

#[derive(Deserialize)]
struct BpeFile<'a> {
    #[serde(rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    dropout: Option<f32>,
    #[serde(default)]
    unk_token: Option<String>,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
    #[serde(default)]
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    fuse_unk: bool,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    ignore_merges: bool,
    vocab: Vocabulary,
    #[serde(borrow)]
    merges: Vec<Pair<'a>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Pair<'a> {
    Two(#[serde(borrow)] Text<'a>, Text<'a>),
    Line(Text<'a>),
}

/// Borrowed where the JSON string has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct Vocabulary(Spellings);

impl<'de> Deserialize<'de> for Vocabulary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Vocabulary;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a map from tokens to ids")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vocabulary, A::Error> {
                let mut spellings = Spellings::with_capacity(1 << 16);
                while let Some((token, id)) = map.next_entry::<Text, u32>()? {
                    if !spellings.insert(&token.0, id) {
                        let what =
                            format!("model.vocab: {:?} or its id {id} is there twice", token.0);
                        return Err(serde::de::Error::custom(what));
                    }
                }
                Ok(Vocabulary(spellings))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

pub fn read(json: &[u8]) -> Result<EdgeTokenizer, Failure> {
    let file: File = serde_json::from_slice(json).map_err(|e| Failure::file(e.to_string()))?;
    if file.version.as_deref().is_some_and(|v| v != "1.0") {
        return Err(Failure::file("version is not \"1.0\""));
    }
    let decoding = Decoding::from_json(&file.decoder)?;
    EdgeTokenizer::new(Parts {
        model: read_model(file.model.get())?,
        normalizer: file.normalizer,
        pre_tokenizer: file.pre_tokenizer,
        added: file.added_tokens,
        begin: begin_of(&file.post_processor),
        decoding,
    })
}

fn read_model(json: &str) -> Result<AnyModel, Failure> {
    let crate_model = || {
        serde_json::from_str::<ModelWrapper>(json)
            .map(AnyModel::Crate)
            .map_err(|e| Failure::file(format!("model: {e}")))
    };
    let Ok(file) = serde_json::from_str::<BpeFile>(json) else {
        return crate_model();
    };
    let empty = |text: &Option<String>| text.as_deref().unwrap_or_default().is_empty();
    let plain = file.kind.as_deref().is_none_or(|k| k == "BPE")
        && file.dropout.unwrap_or(0.0) == 0.0
        && empty(&file.continuing_subword_prefix)
        && empty(&file.end_of_word_suffix);
    if !plain {
        return crate_model();
    }
    let spellings = file.vocab.0;
    let mut merges = Merges::with_capacity(file.merges.len());
    let mut joined = String::new();
    for (rank, pair) in file.merges.iter().enumerate() {
        let (left, right) = match pair {
            Pair::Two(left, right) => (left.0.as_ref(), right.0.as_ref()),
            Pair::Line(line) => line.0.split_once(' ').unwrap_or((line.0.as_ref(), "")),
        };
        joined.clear();
        joined.push_str(left);
        joined.push_str(right);
        let id = |token: &str| {
            let what = || Failure::file(format!("model.merges[{rank}] names no token {token:?}"));
            spellings.find(token).ok_or_else(what)
        };
        merges.insert(id(left)?, id(right)?, rank as u32, id(&joined)?);
    }
    let mut bpe = Bpe::new(spellings, merges);
    bpe.unknown = file.unk_token.as_deref().and_then(|t| bpe.spellings.find(t));
    bpe.fuse_unknown = file.fuse_unk;
    bpe.ignore_merges = file.ignore_merges;
    if file.byte_fallback {
        bpe.fall_back_to_bytes();
    }
    Ok(AnyModel::Own(bpe))
}

/// The ids that a template puts before the text.
fn begin_of(post_processor: &Value) -> Vec<u32> {
    if let Some(steps) = post_processor["processors"].as_array() {
        return steps.iter().map(begin_of).find(|ids| !ids.is_empty()).unwrap_or_default();
    }
    let mut ids = Vec::new();
    for piece in post_processor["single"].as_array().into_iter().flatten() {
        let Some(name) = piece["SpecialToken"]["id"].as_str() else {
            break;
        };
        let listed = post_processor["special_tokens"][name]["ids"].as_array();
        ids.extend(listed.into_iter().flatten().filter_map(|id| u32::try_from(id.as_u64()?).ok()));
    }
    ids
}
