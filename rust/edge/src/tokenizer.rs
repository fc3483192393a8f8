//! A tokenizer: control tokens, normalizer, cuts, model, and the tables that decode.

use crate::abi::{Failure, Kind, Outcome};
use crate::bpe::{Bpe, Scratch, MAX_ID};
use crate::token_bytes::Decoding;
use std::borrow::Cow;
use tokenizers::tokenizer::AddedVocabulary;
use tokenizers::{
    AddedToken, Model, ModelWrapper, NormalizerWrapper, OffsetReferential, OffsetType,
    PreTokenizer, PreTokenizerWrapper,
};

pub const TOKEN_KNOWN: u8 = 1;
pub const TOKEN_SPECIAL: u8 = 2;
pub const TOKEN_ADDED: u8 = 4;

/// Our own byte pairs, or whatever else the crate knows.
pub enum AnyModel {
    Own(Bpe),
    Crate(ModelWrapper),
}

/// What a tokenizer is made of.
pub struct Parts {
    pub model: AnyModel,
    pub normalizer: Option<NormalizerWrapper>,
    pub pre_tokenizer: Option<PreTokenizerWrapper>,
    pub added: Vec<AddedToken>,
    /// What comes before a text.
    pub begin: Vec<u32>,
    pub decoding: Decoding,
}

pub struct EdgeTokenizer {
    model: AnyModel,
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
    added: AddedVocabulary,
    /// The same, but its special tokens are not recognised in text.
    plain: AddedVocabulary,
    special: Vec<bool>,
    begin: Vec<u32>,
    decoding: Decoding,
}

fn failure(error: tokenizers::Error) -> Failure {
    Failure::new(Kind::Internal, error.to_string())
}

impl AnyModel {
    fn append(&self, piece: &str, scratch: &mut Scratch, ids: &mut Vec<u32>) -> Outcome {
        match self {
            AnyModel::Own(bpe) => bpe.append(piece, scratch, ids),
            AnyModel::Crate(model) => {
                ids.extend(model.tokenize(piece).map_err(failure)?.iter().map(|t| t.id));
            }
        }
        Ok(())
    }

    fn id_of(&self, token: &str) -> Option<u32> {
        match self {
            AnyModel::Own(bpe) => bpe.token_to_id(token),
            AnyModel::Crate(model) => model.token_to_id(token),
        }
    }

    fn spelling(&self, id: u32) -> Option<Cow<'_, str>> {
        match self {
            AnyModel::Own(bpe) => bpe.spellings.spelling(id).map(Cow::Borrowed),
            AnyModel::Crate(model) => model.id_to_token(id).map(Cow::Owned),
        }
    }

    fn token_count(&self) -> usize {
        match self {
            AnyModel::Own(bpe) => bpe.get_vocab_size(),
            AnyModel::Crate(model) => model.get_vocab_size(),
        }
    }

    /// The token for what is no token: any text may make it.
    fn unknown(&self) -> Option<u32> {
        match self {
            AnyModel::Own(bpe) => bpe.unknown,
            AnyModel::Crate(ModelWrapper::BPE(bpe)) => bpe.token_to_id(bpe.unk_token.as_deref()?),
            AnyModel::Crate(_) => None,
        }
    }
}

impl EdgeTokenizer {
    pub fn new(parts: Parts) -> Result<Self, Failure> {
        let mut added = AddedVocabulary::new();
        let normalizer = parts.normalizer.as_ref();
        match &parts.model {
            AnyModel::Own(model) => added.add_tokens(parts.added, model, normalizer),
            AnyModel::Crate(model) => added.add_tokens(parts.added, model, normalizer),
        }
        .map_err(failure)?;
        let mut plain = added.clone();
        plain.set_encode_special_tokens(true);
        let mut special = vec![false; vocabulary_size(&parts.model, &added) as usize];
        for (id, token) in added.get_added_tokens_decoder() {
            special[*id as usize] = token.special && Some(*id) != parts.model.unknown();
        }
        Ok(EdgeTokenizer {
            model: parts.model,
            normalizer: parts.normalizer,
            pre_tokenizer: parts.pre_tokenizer,
            added,
            plain,
            special,
            begin: parts.begin,
            decoding: parts.decoding,
        })
    }

    /// A mark that is not empty falls away from the text once control tokens have been found.
    pub fn encode(&self, text: &str, parse_special: bool, mark: &str) -> Result<Vec<u32>, Failure> {
        let added = if parse_special { &self.added } else { &self.plain };
        let mut pieces = added.extract_and_normalize(self.normalizer.as_ref(), text);
        if !mark.is_empty() {
            pieces.normalize(|piece| piece.replace(mark, "")).map_err(failure)?;
        }
        if let Some(cut) = &self.pre_tokenizer {
            cut.pre_tokenize(&mut pieces).map_err(failure)?;
        }
        let mut ids = Vec::with_capacity(text.len() / 3 + 4);
        let mut scratch = Scratch::default();
        for (piece, _, tokens) in pieces.get_splits(OffsetReferential::Normalized, OffsetType::None)
        {
            if let Some(tokens) = tokens {
                ids.extend(tokens.iter().map(|t| t.id));
                continue;
            }
            let start = ids.len();
            self.model.append(piece, &mut scratch, &mut ids)?;
            if (!parse_special || !mark.is_empty())
                && ids[start..].iter().any(|id| self.is_special(*id))
            {
                let made = ids.split_off(start);
                self.append_spelled_out(&made, &mut scratch, &mut ids)?;
            }
        }
        Ok(ids)
    }

    /// Special tokens that merging itself made out of plain text, character by character.
    fn append_spelled_out(
        &self,
        made: &[u32],
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
    ) -> Outcome {
        for &id in made {
            if !self.is_special(id) {
                ids.push(id);
                continue;
            }
            let spelling = self.model.spelling(id).unwrap_or_default().into_owned();
            let start = ids.len();
            for c in spelling.chars() {
                self.model.append(c.encode_utf8(&mut [0; 4]), scratch, ids)?;
            }
            let whole = ids.split_off(start);
            ids.extend(whole.iter().filter(|id| !self.is_special(**id)));
        }
        Ok(())
    }

    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.added.get_vocab().get(token).copied().or_else(|| self.model.id_of(token))
    }

    /// What comes before a text.
    pub fn begin(&self) -> &[u32] {
        &self.begin
    }

    pub fn leading_spaces(&self) -> u32 {
        self.decoding.leading_spaces
    }

    fn is_special(&self, id: u32) -> bool {
        self.special.get(id as usize).copied().unwrap_or(false)
    }

    pub fn tables(&self) -> (Vec<u8>, Vec<u32>, Vec<u8>) {
        let added = self.added.get_added_tokens_decoder();
        let mut bytes = Vec::with_capacity(self.special.len() * 8);
        let mut ends = Vec::with_capacity(self.special.len());
        let mut flags = Vec::with_capacity(self.special.len());
        for id in 0..self.special.len() as u32 {
            let mut flag = 0;
            if let Some(token) = added.get(&id) {
                flag = TOKEN_KNOWN | if token.special { TOKEN_SPECIAL } else { TOKEN_ADDED };
                self.decoding.append(&token.content, true, &mut bytes);
            } else if let Some(token) = self.model.spelling(id) {
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
fn vocabulary_size(model: &AnyModel, added: &AddedVocabulary) -> u32 {
    let mut missing = model.token_count() as u32;
    let mut size = 0;
    while missing > 0 && size <= MAX_ID {
        missing -= u32::from(model.spelling(size).is_some());
        size += 1;
    }
    let largest = added.get_added_tokens_decoder().keys().map(|id| id + 1).max();
    largest.unwrap_or(0).max(size)
}
