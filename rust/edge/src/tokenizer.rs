//! Tokenizers, from a tokenizer.json or from the vocabulary of a GGUF file.

use crate::abi::{guarded, EdgeBytes, EdgeSlice, EdgeWords, Failure, Kind};
use crate::token_bytes::Decoding;
use crate::vocabulary::{self, EdgeVocabulary};
use tokenizers::tokenizer::AddedVocabulary;
use tokenizers::{Model, OffsetReferential, OffsetType, PreTokenizer, Tokenizer};

pub const TOKEN_KNOWN: u8 = 1;
pub const TOKEN_SPECIAL: u8 = 2;
pub const TOKEN_ADDED: u8 = 4;

/// Ids above twice the number of tokens and this are not looked for: a vocabulary with such holes
/// is no vocabulary.
const ID_SLACK: u32 = 1 << 16;

pub struct EdgeTokenizer {
    tokenizer: Tokenizer,
    /// The added tokens, of which the special ones are not recognised in text.
    plain: AddedVocabulary,
    decoding: Decoding,
    special: Vec<bool>,
    vocabulary_size: u32,
    /// What the post-processor puts before a text.
    begin: Vec<u32>,
}

fn failure(error: tokenizers::Error) -> Failure {
    Failure::new(Kind::Internal, error.to_string())
}

impl EdgeTokenizer {
    pub fn new(tokenizer: Tokenizer, decoding: Decoding) -> Result<Self, Failure> {
        let mut plain = tokenizer.get_added_vocabulary().clone();
        plain.set_encode_special_tokens(true);
        let size = vocabulary_size(&tokenizer);
        let mut special = vec![false; size as usize];
        for (id, token) in plain.get_added_tokens_decoder() {
            special[*id as usize] = token.special;
        }
        let mut out = EdgeTokenizer {
            tokenizer,
            plain,
            decoding,
            special,
            vocabulary_size: size,
            begin: vec![],
        };
        out.begin = out.begin_tokens()?;
        Ok(out)
    }

    fn from_json(json: &[u8]) -> Result<Self, Failure> {
        let tokenizer = Tokenizer::from_bytes(json).map_err(|e| Failure::file(e.to_string()))?;
        let decoder = serde_json::to_value(tokenizer.get_decoder())
            .map_err(|e| Failure::new(Kind::Internal, e.to_string()))?;
        let decoding = Decoding::from_json(&decoder)?;
        Self::new(tokenizer, decoding)
    }

    fn begin_tokens(&self) -> Result<Vec<u32>, Failure> {
        if self.tokenizer.get_post_processor().is_none() {
            return Ok(vec![]);
        }
        let with = self.tokenizer.encode_fast("a", true).map_err(failure)?;
        let without = self.tokenizer.encode_fast("a", false).map_err(failure)?;
        let (with, without) = (with.get_ids(), without.get_ids());
        let at = with.windows(without.len().max(1)).position(|w| w == without);
        Ok(with[..at.unwrap_or(0)].to_vec())
    }

    fn encode(&self, text: &str, parse_special: bool) -> Result<Vec<u32>, Failure> {
        let added =
            if parse_special { self.tokenizer.get_added_vocabulary() } else { &self.plain };
        let mut pieces = added.extract_and_normalize(self.tokenizer.get_normalizer(), text);
        if let Some(cut) = self.tokenizer.get_pre_tokenizer() {
            cut.pre_tokenize(&mut pieces).map_err(failure)?;
        }
        let model = self.tokenizer.get_model();
        pieces.tokenize(|piece| model.tokenize(piece.get())).map_err(failure)?;
        let mut ids = Vec::with_capacity(text.len() / 3 + 4);
        for (_, _, tokens) in pieces.get_splits(OffsetReferential::Original, OffsetType::None) {
            for token in tokens.as_deref().unwrap_or_default() {
                if !parse_special && self.is_special(token.id) {
                    self.append_spelled_out(&token.value, &mut ids)?;
                } else {
                    ids.push(token.id);
                }
            }
        }
        Ok(ids)
    }

    /// A special token that merging itself made out of plain text, character by character.
    fn append_spelled_out(&self, token: &str, ids: &mut Vec<u32>) -> Result<(), Failure> {
        let model = self.tokenizer.get_model();
        for c in token.chars() {
            let tokens = model.tokenize(c.encode_utf8(&mut [0; 4])).map_err(failure)?;
            ids.extend(tokens.iter().map(|t| t.id).filter(|id| !self.is_special(*id)));
        }
        Ok(())
    }

    fn is_special(&self, id: u32) -> bool {
        self.special.get(id as usize).copied().unwrap_or(false) && !self.is_unknown(id)
    }

    /// The model's own token for what it has no token for may come from any text.
    fn is_unknown(&self, id: u32) -> bool {
        use tokenizers::ModelWrapper::BPE;
        match self.tokenizer.get_model() {
            BPE(bpe) => bpe.unk_token.as_deref().and_then(|t| bpe.token_to_id(t)) == Some(id),
            _ => false,
        }
    }

    fn tables(&self) -> (Vec<u8>, Vec<u32>, Vec<u8>) {
        let added = self.plain.get_added_tokens_decoder();
        let mut bytes = Vec::with_capacity(self.vocabulary_size as usize * 8);
        let mut ends = Vec::with_capacity(self.vocabulary_size as usize);
        let mut flags = Vec::with_capacity(self.vocabulary_size as usize);
        let model = self.tokenizer.get_model();
        for id in 0..self.vocabulary_size {
            let mut flag = 0;
            if let Some(token) = added.get(&id) {
                flag = TOKEN_KNOWN | if token.special { TOKEN_SPECIAL } else { TOKEN_ADDED };
                self.decoding.append(&token.content, true, &mut bytes);
            } else if let Some(token) = model.id_to_token(id) {
                flag = TOKEN_KNOWN;
                self.decoding.append(&token, false, &mut bytes);
            }
            ends.push(bytes.len() as u32);
            flags.push(flag);
        }
        (bytes, ends, flags)
    }
}

/// One more than the largest id.
fn vocabulary_size(tokenizer: &Tokenizer) -> u32 {
    let model = tokenizer.get_model();
    let mut missing = model.get_vocab_size() as u32;
    let limit = missing.saturating_mul(2).saturating_add(ID_SLACK);
    let mut size = 0;
    while missing > 0 && size < limit {
        missing -= u32::from(model.id_to_token(size).is_some());
        size += 1;
    }
    let added = tokenizer.get_added_vocabulary().get_added_tokens_decoder();
    added.keys().map(|id| id + 1).max().unwrap_or(0).max(size)
}

/// # Safety
/// Pointers are valid as edge.h says; `out` receives an owner of one tokenizer.
#[no_mangle]
pub unsafe extern "C" fn edge_tokenizer_from_json(
    json: EdgeSlice,
    out: *mut *mut EdgeTokenizer,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let made = EdgeTokenizer::from_json(json.bytes())?;
            out.write(Box::into_raw(Box::new(made)));
            Ok(())
        })
    }
}

/// # Safety
/// As `edge_tokenizer_from_json`.
#[no_mangle]
pub unsafe extern "C" fn edge_tokenizer_from_vocabulary(
    vocabulary: *const EdgeVocabulary,
    out: *mut *mut EdgeTokenizer,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let made = vocabulary::build(&*vocabulary)?;
            out.write(Box::into_raw(Box::new(made)));
            Ok(())
        })
    }
}

/// # Safety
/// `tokenizer` came from this library and is given back once, or is null.
#[no_mangle]
pub unsafe extern "C" fn edge_tokenizer_free(tokenizer: *mut EdgeTokenizer) {
    if !tokenizer.is_null() {
        let _ = unsafe { guarded(std::ptr::null_mut(), || Ok(drop(Box::from_raw(tokenizer)))) };
    }
}

/// # Safety
/// As `edge_tokenizer_from_json`.
#[no_mangle]
pub unsafe extern "C" fn edge_tokenizer_encode(
    tokenizer: *const EdgeTokenizer,
    text: EdgeSlice,
    parse_special: u32,
    ids: *mut EdgeWords,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let text = text.text("the text")?;
            ids.write((*tokenizer).encode(text, parse_special != 0)?.into());
            Ok(())
        })
    }
}

/// # Safety
/// As `edge_tokenizer_from_json`.
#[no_mangle]
pub unsafe extern "C" fn edge_tokenizer_id_of(
    tokenizer: *const EdgeTokenizer,
    token: EdgeSlice,
    id: *mut u32,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let token = token.text("the token")?;
            match (*tokenizer).tokenizer.token_to_id(token) {
                Some(found) => id.write(found),
                None => return Err(Failure::new(Kind::NotFound, "no such token")),
            }
            Ok(())
        })
    }
}

/// # Safety
/// As `edge_tokenizer_from_json`.
#[no_mangle]
pub unsafe extern "C" fn edge_tokenizer_begin(
    tokenizer: *const EdgeTokenizer,
    ids: *mut EdgeWords,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            ids.write((*tokenizer).begin.clone().into());
            Ok(())
        })
    }
}

/// # Safety
/// As `edge_tokenizer_from_json`.
#[no_mangle]
pub unsafe extern "C" fn edge_tokenizer_tables(
    tokenizer: *const EdgeTokenizer,
    bytes: *mut EdgeBytes,
    ends: *mut EdgeWords,
    flags: *mut EdgeBytes,
    leading_spaces: *mut u32,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let (all, offsets, kinds) = (*tokenizer).tables();
            bytes.write(all.into());
            ends.write(offsets.into());
            flags.write(kinds.into());
            leading_spaces.write((*tokenizer).decoding.leading_spaces);
            Ok(())
        })
    }
}
