//! A tokenizer out of the vocabulary that a GGUF file carries.

use crate::abi::{values, EdgeSlice, Failure, Kind};
use crate::pre_tokenizer::recipe_of;
use crate::token_bytes::Decoding;
use crate::tokenizer::EdgeTokenizer;
use ahash::AHashMap;
use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::{Prepend, Replace, Sequence};
use tokenizers::{AddedToken, NormalizerWrapper, Tokenizer};

/// Borrowed for the call; edge.h describes the members.
#[repr(C)]
pub struct EdgeVocabulary {
    tokens: *const EdgeSlice,
    scores: *const f32,
    types: *const u8,
    token_count: usize,
    merges: *const EdgeSlice,
    merge_count: usize,
    pre_tokenizer: EdgeSlice,
    model: u32,
    add_space_prefix: u32,
}

const MODEL_BYTE_LEVEL: u32 = 0;
const MODEL_SENTENCE_PIECE: u32 = 1;
const MODEL_SPACE_MARKED: u32 = 2;

const TYPE_NORMAL: u8 = 1;
const TYPE_UNKNOWN: u8 = 2;
const TYPE_CONTROL: u8 = 3;
const TYPE_USER_DEFINED: u8 = 4;

const SPACE_MARK: &str = "\u{2581}";

type Merges = Vec<(String, String)>;

struct Vocabulary<'a> {
    tokens: Vec<&'a str>,
    ids: AHashMap<&'a str, u32>,
    types: &'a [u8],
    scores: &'a [f32],
}

/// # Safety
/// Every pointer of `raw` is valid for its count.
pub unsafe fn build(raw: &EdgeVocabulary) -> Result<EdgeTokenizer, Failure> {
    let vocabulary = unsafe { Vocabulary::read(raw)? };
    let merge_lines = unsafe { values(raw.merges, raw.merge_count) };
    match raw.model {
        MODEL_BYTE_LEVEL => {
            let name = unsafe { raw.pre_tokenizer.text("tokenizer.ggml.pre")? };
            vocabulary.byte_level(name, unsafe { vocabulary.read_merges(merge_lines)? })
        }
        MODEL_SENTENCE_PIECE => {
            let merges = vocabulary.merges_by_score();
            vocabulary.space_marked(merges, raw.add_space_prefix != 0)
        }
        MODEL_SPACE_MARKED => {
            let merges = unsafe { vocabulary.read_merges(merge_lines)? };
            vocabulary.space_marked(merges, raw.add_space_prefix != 0)
        }
        other => Err(Failure::argument(format!("no such kind of vocabulary: {other}"))),
    }
}

impl<'a> Vocabulary<'a> {
    unsafe fn read(raw: &EdgeVocabulary) -> Result<Self, Failure> {
        let slices: &'a [EdgeSlice] = unsafe { values(raw.tokens, raw.token_count) };
        let mut tokens = Vec::with_capacity(slices.len());
        let mut ids = AHashMap::with_capacity(slices.len());
        for (id, slice) in slices.iter().enumerate() {
            let Ok(token) = std::str::from_utf8(unsafe { slice.bytes() }) else {
                let what = format!("tokenizer.ggml.tokens[{id}] is not valid UTF-8");
                return Err(Failure::file(what));
            };
            if let Some(first) = ids.insert(token, id as u32) {
                let what = format!("tokenizer.ggml.tokens[{id}] repeats tokens[{first}] {token:?}");
                return Err(Failure::file(what));
            }
            tokens.push(token);
        }
        let scores = match raw.scores.is_null() {
            true => &[],
            false => unsafe { values(raw.scores, raw.token_count) },
        };
        Ok(Vocabulary { tokens, ids, types: unsafe { values(raw.types, raw.token_count) }, scores })
    }

    unsafe fn read_merges(&self, lines: &[EdgeSlice]) -> Result<Merges, Failure> {
        let mut merges = Vec::with_capacity(lines.len());
        let mut joined = String::new();
        for (i, line) in lines.iter().enumerate() {
            let bad = |why: &str| Failure::file(format!("tokenizer.ggml.merges[{i}] {why}"));
            let line = std::str::from_utf8(unsafe { line.bytes() })
                .map_err(|_| bad("is not valid UTF-8"))?;
            // A token may start with a space, so the one that divides is looked for after it.
            let start = line.chars().next().map_or(0, char::len_utf8);
            let cut = start + line[start..].find(' ').ok_or_else(|| bad("names no two tokens"))?;
            let (left, right) = (&line[..cut], &line[cut + 1..]);
            joined.clear();
            joined.push_str(left);
            joined.push_str(right);
            for token in [left, right, joined.as_str()] {
                if !self.ids.contains_key(token) {
                    return Err(bad(&format!("names {token:?}, which is no token")));
                }
            }
            merges.push((left.to_owned(), right.to_owned()));
        }
        Ok(merges)
    }

    /// Every way to make a normal token out of two tokens, best score first: SentencePiece joins
    /// whatever makes the token of the best score.
    fn merges_by_score(&self) -> Merges {
        let usable = |id: u32| self.types[id as usize] == TYPE_NORMAL;
        let mut found = Vec::new();
        for (id, token) in self.tokens.iter().enumerate() {
            if !usable(id as u32) {
                continue;
            }
            let first = found.len();
            for (cut, _) in token.char_indices().skip(1) {
                let (left, right) = token.split_at(cut);
                if let (Some(&l), Some(&r)) = (self.ids.get(left), self.ids.get(right)) {
                    if usable(l) && usable(r) {
                        found.push((id as u32, l, r));
                    }
                }
            }
            found[first..].sort_by_key(|&(_, l, r)| (l, r));
        }
        let score = |id: u32| self.scores.get(id as usize).copied().unwrap_or(0.0);
        found.sort_by(|a, b| score(b.0).total_cmp(&score(a.0)));
        let text = |id: u32| self.tokens[id as usize].to_owned();
        found.into_iter().map(|(_, l, r)| (text(l), text(r))).collect()
    }

    fn owned_ids(&self) -> AHashMap<String, u32> {
        let mut out = AHashMap::with_capacity(self.tokens.len());
        out.extend(self.tokens.iter().enumerate().map(|(id, t)| ((*t).to_owned(), id as u32)));
        out
    }

    fn unknown(&self) -> Option<String> {
        let id = self.types.iter().position(|t| *t == TYPE_UNKNOWN)?;
        Some(self.tokens[id].to_owned())
    }

    fn added(&self) -> Vec<AddedToken> {
        let mut out = Vec::new();
        for (token, kind) in self.tokens.iter().zip(self.types) {
            let special = matches!(*kind, TYPE_CONTROL | TYPE_UNKNOWN);
            if special || *kind == TYPE_USER_DEFINED {
                out.push(AddedToken::from(*token, special).normalized(false));
            }
        }
        out
    }

    fn byte_level(&self, pre_tokenizer: &str, merges: Merges) -> Result<EdgeTokenizer, Failure> {
        let recipe = recipe_of(pre_tokenizer).ok_or_else(|| {
            let what = format!("tokenizer.ggml.pre names {pre_tokenizer:?}, which is not known");
            Failure::new(Kind::Unsupported, what)
        })?;
        let model = BPE::builder()
            .vocab_and_merges(self.owned_ids(), merges)
            .ignore_merges(recipe.ignore_merges)
            .build()
            .map_err(internal)?;
        let mut tokenizer = Tokenizer::new(model);
        tokenizer.with_normalizer(recipe.normalizer()).map_err(internal)?;
        tokenizer.with_pre_tokenizer(Some(recipe.pre_tokenizer().map_err(internal)?));
        tokenizer.add_tokens(self.added()).map_err(internal)?;
        EdgeTokenizer::new(tokenizer, Decoding::byte_level())
    }

    fn space_marked(&self, merges: Merges, prefix: bool) -> Result<EdgeTokenizer, Failure> {
        let mut builder = BPE::builder()
            .vocab_and_merges(self.owned_ids(), merges)
            .fuse_unk(true)
            .byte_fallback(true);
        if let Some(unknown) = self.unknown() {
            builder = builder.unk_token(unknown);
        }
        let mut steps = Vec::new();
        if prefix {
            steps.push(NormalizerWrapper::Prepend(Prepend::new(SPACE_MARK.into())));
        }
        let spaces = Replace::new(" ".to_owned(), SPACE_MARK).map_err(internal)?;
        steps.push(NormalizerWrapper::Replace(spaces));
        let mut tokenizer = Tokenizer::new(builder.build().map_err(internal)?);
        tokenizer.with_normalizer(Some(Sequence::new(steps))).map_err(internal)?;
        tokenizer.add_tokens(self.added()).map_err(internal)?;
        EdgeTokenizer::new(tokenizer, Decoding::sentence_piece(u32::from(prefix)))
    }
}

fn internal(error: tokenizers::Error) -> Failure {
    Failure::new(Kind::Internal, error.to_string())
}
