//! A tokenizer out of the vocabulary that a GGUF file carries.

use crate::abi::{values, EdgeSlice, Failure, Kind};
use crate::bpe::{Bpe, Merges, Spellings};
use crate::pre_tokenizer::recipe_of;
use crate::token_bytes::Decoding;
use crate::tokenizer::{AnyModel, EdgeTokenizer, Parts};
use tokenizers::normalizers::{Prepend, Replace, Sequence};
use tokenizers::{AddedToken, NormalizerWrapper};

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

struct Vocabulary<'a> {
    spellings: Spellings,
    types: &'a [u8],
    scores: &'a [f32],
}

/// # Safety
/// Every pointer of `raw` is valid for its count.
pub unsafe fn build(raw: &EdgeVocabulary) -> Result<EdgeTokenizer, Failure> {
    let vocabulary = unsafe { Vocabulary::read(raw)? };
    let lines = unsafe { values(raw.merges, raw.merge_count) };
    let prefix = raw.add_space_prefix != 0;
    match raw.model {
        MODEL_BYTE_LEVEL => {
            let name = unsafe { raw.pre_tokenizer.text("tokenizer.ggml.pre")? };
            let merges = unsafe { vocabulary.read_merges(lines)? };
            vocabulary.byte_level(name, merges)
        }
        MODEL_SENTENCE_PIECE => {
            let merges = vocabulary.merges_by_score();
            vocabulary.space_marked(merges, prefix)
        }
        MODEL_SPACE_MARKED => {
            let merges = unsafe { vocabulary.read_merges(lines)? };
            vocabulary.space_marked(merges, prefix)
        }
        other => Err(Failure::argument(format!("no such kind of vocabulary: {other}"))),
    }
}

impl<'a> Vocabulary<'a> {
    unsafe fn read(raw: &EdgeVocabulary) -> Result<Self, Failure> {
        let slices: &'a [EdgeSlice] = unsafe { values(raw.tokens, raw.token_count) };
        let mut spellings = Spellings::with_capacity(slices.len());
        for (id, slice) in slices.iter().enumerate() {
            let bad = |why: String| Failure::file(format!("tokenizer.ggml.tokens[{id}] {why}"));
            let token = std::str::from_utf8(unsafe { slice.bytes() })
                .map_err(|_| bad("is not valid UTF-8".into()))?;
            if !spellings.insert(token, id as u32) {
                let first = spellings.find(token).unwrap_or_default();
                return Err(bad(format!("{token:?} repeats tokenizer.ggml.tokens[{first}]")));
            }
        }
        let scores = match raw.scores.is_null() {
            true => &[],
            false => unsafe { values(raw.scores, raw.token_count) },
        };
        Ok(Vocabulary { spellings, types: unsafe { values(raw.types, raw.token_count) }, scores })
    }

    unsafe fn read_merges(&self, lines: &[EdgeSlice]) -> Result<Merges, Failure> {
        let mut merges = Merges::with_capacity(lines.len());
        let mut joined = String::new();
        for (rank, line) in lines.iter().enumerate() {
            let bad = |why: String| Failure::file(format!("tokenizer.ggml.merges[{rank}] {why}"));
            let line = std::str::from_utf8(unsafe { line.bytes() })
                .map_err(|_| bad("is not valid UTF-8".into()))?;
            // A token may start with a space, so the one that divides is looked for after it.
            let start = line.chars().next().map_or(0, char::len_utf8);
            let cut = line[start..].find(' ').map(|at| start + at);
            let cut = cut.ok_or_else(|| bad("names no two tokens".into()))?;
            let (left, right) = (&line[..cut], &line[cut + 1..]);
            joined.clear();
            joined.push_str(left);
            joined.push_str(right);
            let id = |token: &str| {
                let what = || bad(format!("names {token:?}, which is no token"));
                self.spellings.find(token).ok_or_else(what)
            };
            merges.insert(id(left)?, id(right)?, rank as u32, id(&joined)?);
        }
        Ok(merges)
    }

    /// Every way to make a normal token out of two, best score first: SentencePiece joins whatever
    /// makes the token of the best score. Ways to one token are in the order of their tokens.
    fn merges_by_score(&self) -> Merges {
        let usable = |id: &u32| self.types[*id as usize] == TYPE_NORMAL;
        let mut order: Vec<u32> = (0..self.spellings.len() as u32).filter(usable).collect();
        let score = |id: u32| self.scores.get(id as usize).copied().unwrap_or(0.0);
        order.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
        let mut merges = Merges::with_capacity(order.len() * 4);
        let mut rank = 0;
        let mut ways = Vec::new();
        for id in order {
            let token = self.spellings.spelling(id).unwrap_or_default();
            ways.clear();
            for (cut, _) in token.char_indices().skip(1) {
                let (left, right) = token.split_at(cut);
                let left = self.spellings.find(left).filter(usable);
                let right = left.and_then(|_| self.spellings.find(right).filter(usable));
                ways.extend(left.zip(right));
            }
            ways.sort_unstable();
            for (left, right) in &ways {
                merges.insert(*left, *right, rank, id);
                rank += 1;
            }
        }
        merges
    }

    fn added(&self) -> Vec<AddedToken> {
        let mut out = Vec::new();
        for (id, kind) in self.types.iter().enumerate() {
            let special = matches!(*kind, TYPE_CONTROL | TYPE_UNKNOWN);
            if special || *kind == TYPE_USER_DEFINED {
                let token = self.spellings.spelling(id as u32).unwrap_or_default();
                out.push(AddedToken::from(token, special).normalized(false));
            }
        }
        out
    }

    fn byte_level(self, pre_tokenizer: &str, merges: Merges) -> Result<EdgeTokenizer, Failure> {
        let recipe = recipe_of(pre_tokenizer).ok_or_else(|| {
            let what = format!("tokenizer.ggml.pre names {pre_tokenizer:?}, which is not known");
            Failure::new(Kind::Unsupported, what)
        })?;
        let added = self.added();
        let mut bpe = Bpe::new(self.spellings, merges);
        bpe.ignore_merges = recipe.ignore_merges;
        EdgeTokenizer::new(Parts {
            model: AnyModel::Own(bpe),
            normalizer: recipe.normalizer(),
            pre_tokenizer: Some(recipe.pre_tokenizer().map_err(internal)?),
            added,
            begin: vec![],
            decoding: Decoding::byte_level(),
        })
    }

    fn space_marked(self, merges: Merges, prefix: bool) -> Result<EdgeTokenizer, Failure> {
        let added = self.added();
        let unknown = self.types.iter().position(|t| *t == TYPE_UNKNOWN);
        let mut bpe = Bpe::new(self.spellings, merges);
        bpe.unknown = unknown.map(|id| id as u32);
        bpe.fuse_unknown = true;
        bpe.fall_back_to_bytes();
        let mut steps = Vec::new();
        if prefix {
            steps.push(NormalizerWrapper::Prepend(Prepend::new(SPACE_MARK.into())));
        }
        let spaces = Replace::new(" ".to_owned(), SPACE_MARK).map_err(internal)?;
        steps.push(NormalizerWrapper::Replace(spaces));
        EdgeTokenizer::new(Parts {
            model: AnyModel::Own(bpe),
            normalizer: Some(NormalizerWrapper::Sequence(Sequence::new(steps))),
            pre_tokenizer: None,
            added,
            begin: vec![],
            decoding: Decoding::sentence_piece(u32::from(prefix)),
        })
    }
}

fn internal(error: tokenizers::Error) -> Failure {
    Failure::new(Kind::Internal, error.to_string())
}
