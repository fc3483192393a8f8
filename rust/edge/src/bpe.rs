//! Byte pair encoding with the results of the `tokenizers` crate, made for quick loading: tokens lie
//! in one buffer, both tables are flat, and nothing is allocated for a single token.

use ahash::RandomState;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::{Path, PathBuf};
use tokenizers::models::bpe::BpeTrainer;
use tokenizers::{Model, Result as TokenizersResult, Token};

const EMPTY: u32 = u32::MAX;
/// Ids above this belong to no vocabulary; the largest known one has 262,144 tokens.
pub const MAX_ID: u32 = (1 << 24) - 1;

/// Spellings and ids. Every spelling and every id is there once.
pub struct Spellings {
    text: String,
    starts: Vec<u32>,
    ids: Vec<u32>,
    by_id: Vec<u32>,
    slots: Vec<u32>,
    hasher: RandomState,
}

impl Spellings {
    pub fn with_capacity(tokens: usize) -> Self {
        Spellings {
            text: String::with_capacity(tokens * 8),
            starts: vec![0],
            ids: Vec::with_capacity(tokens),
            by_id: Vec::with_capacity(tokens),
            slots: vec![EMPTY; (tokens * 2).next_power_of_two().max(16)],
            hasher: RandomState::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Adds a token; false when its spelling or its id is taken or the id is too large.
    pub fn insert(&mut self, token: &str, id: u32) -> bool {
        if self.find(token).is_some() || self.spelling(id).is_some() || id > MAX_ID {
            return false;
        }
        if self.ids.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let index = self.ids.len() as u32;
        self.text.push_str(token);
        self.starts.push(self.text.len() as u32);
        self.ids.push(id);
        if self.by_id.len() <= id as usize {
            self.by_id.resize(id as usize + 1, EMPTY);
        }
        self.by_id[id as usize] = index;
        self.place(index);
        true
    }

    pub fn find(&self, token: &str) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = self.hasher.hash_one(token.as_bytes()) as usize & mask;
        loop {
            let index = self.slots[at];
            if index == EMPTY {
                return None;
            }
            if self.at(index) == token {
                return Some(self.ids[index as usize]);
            }
            at = (at + 1) & mask;
        }
    }

    pub fn spelling(&self, id: u32) -> Option<&str> {
        let index = *self.by_id.get(id as usize)?;
        (index != EMPTY).then(|| self.at(index))
    }

    fn at(&self, index: u32) -> &str {
        let index = index as usize;
        &self.text[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    fn place(&mut self, index: u32) {
        let mask = self.slots.len() - 1;
        let mut at = self.hasher.hash_one(self.at(index).as_bytes()) as usize & mask;
        while self.slots[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = index;
    }

    fn grow(&mut self) {
        self.slots = vec![EMPTY; self.slots.len() * 2];
        for index in 0..self.ids.len() as u32 {
            self.place(index);
        }
    }
}

#[derive(Clone, Copy)]
struct Merge {
    left: u32,
    right: u32,
    rank: u32,
    made: u32,
}

const NO_MERGE: Merge = Merge { left: EMPTY, right: EMPTY, rank: 0, made: 0 };

/// Which pairs of tokens join to which token, and in what order of preference.
pub struct Merges {
    slots: Vec<Merge>,
    used: usize,
}

impl Merges {
    pub fn with_capacity(merges: usize) -> Self {
        Merges { slots: vec![NO_MERGE; (merges * 2).next_power_of_two().max(16)], used: 0 }
    }

    /// A later entry for the same pair replaces the earlier one.
    pub fn insert(&mut self, left: u32, right: u32, rank: u32, made: u32) {
        if self.used * 2 >= self.slots.len() {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![NO_MERGE; old.len() * 2];
            for m in old.into_iter().filter(|m| m.left != EMPTY) {
                let at = self.slot_of(m.left, m.right);
                self.slots[at] = m;
            }
        }
        let at = self.slot_of(left, right);
        self.used += usize::from(self.slots[at].left == EMPTY);
        self.slots[at] = Merge { left, right, rank, made };
    }

    fn find(&self, left: u32, right: u32) -> Option<Merge> {
        let merge = self.slots[self.slot_of(left, right)];
        (merge.left != EMPTY).then_some(merge)
    }

    fn slot_of(&self, left: u32, right: u32) -> usize {
        let key = (u64::from(left) << 32) | u64::from(right);
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mask = self.slots.len() - 1;
        let mut at = (mixed >> 32) as usize & mask;
        while self.slots[at].left != EMPTY
            && (self.slots[at].left, self.slots[at].right) != (left, right)
        {
            at = (at + 1) & mask;
        }
        at
    }
}

/// A token of a word while it is merged; `length` 0 once it has been joined to another.
#[derive(Clone, Copy)]
struct Symbol {
    id: u32,
    length: u32,
    previous: u32,
    next: u32,
}

/// (rank, position, token made): the smallest is merged first.
type Candidate = Reverse<(u32, u32, u32)>;

/// Working memory that calls reuse.
#[derive(Default)]
pub struct Scratch {
    symbols: Vec<Symbol>,
    queue: BinaryHeap<Candidate>,
}

pub struct Bpe {
    pub spellings: Spellings,
    pub merges: Merges,
    pub unknown: Option<u32>,
    pub fuse_unknown: bool,
    pub ignore_merges: bool,
    bytes: Option<Box<[u32; 256]>>,
}

impl Bpe {
    pub fn new(spellings: Spellings, merges: Merges) -> Self {
        Bpe {
            spellings,
            merges,
            unknown: None,
            fuse_unknown: false,
            ignore_merges: false,
            bytes: None,
        }
    }

    /// Characters that are no tokens become tokens of their bytes, <0x00> to <0xFF>.
    pub fn fall_back_to_bytes(&mut self) {
        let mut bytes = Box::new([EMPTY; 256]);
        for (byte, id) in bytes.iter_mut().enumerate() {
            *id = self.spellings.find(&format!("<0x{byte:02X}>")).unwrap_or(EMPTY);
        }
        self.bytes = Some(bytes);
    }

    /// Appends the ids of a piece of text.
    pub fn append(&self, piece: &str, scratch: &mut Scratch, ids: &mut Vec<u32>) {
        if piece.is_empty() {
            return;
        }
        if self.ignore_merges {
            if let Some(id) = self.spellings.find(piece) {
                ids.push(id);
                return;
            }
        }
        self.split(piece, &mut scratch.symbols);
        self.merge(scratch);
        ids.extend(scratch.symbols.iter().filter(|s| s.length != 0).map(|s| s.id));
    }

    fn split(&self, piece: &str, symbols: &mut Vec<Symbol>) {
        symbols.clear();
        let add = |symbols: &mut Vec<Symbol>, id: u32| {
            let at = symbols.len() as u32;
            symbols.push(Symbol { id, length: 1, previous: at.wrapping_sub(1), next: at + 1 });
        };
        // An unknown character waits for the next known one, so that neighbours can fuse.
        let mut waiting = None;
        let mut buffer = [0; 4];
        for c in piece.chars() {
            let c = c.encode_utf8(&mut buffer);
            if let Some(id) = self.spellings.find(c) {
                if let Some(unknown) = waiting.take() {
                    add(symbols, unknown);
                }
                add(symbols, id);
                continue;
            }
            if let Some(bytes) = &self.bytes {
                if c.bytes().all(|b| bytes[b as usize] != EMPTY) {
                    c.bytes().for_each(|b| add(symbols, bytes[b as usize]));
                    continue;
                }
            }
            if let Some(unknown) = self.unknown {
                if let (Some(before), false) = (waiting, self.fuse_unknown) {
                    add(symbols, before);
                }
                waiting = Some(unknown);
            }
        }
        if let Some(unknown) = waiting {
            add(symbols, unknown);
        }
    }

    fn merge(&self, scratch: &mut Scratch) {
        let Scratch { symbols, queue } = scratch;
        let count = symbols.len() as u32;
        queue.clear();
        for (at, pair) in symbols.windows(2).enumerate() {
            if let Some(m) = self.merges.find(pair[0].id, pair[1].id) {
                queue.push(Reverse((m.rank, at as u32, m.made)));
            }
        }
        while let Some(Reverse((_, at, made))) = queue.pop() {
            let left = symbols[at as usize];
            if left.length == 0 || left.next >= count {
                continue;
            }
            let right = symbols[left.next as usize];
            // A candidate is out of date when its pair has changed since.
            if self.merges.find(left.id, right.id).is_none_or(|m| m.made != made) {
                continue;
            }
            symbols[left.next as usize].length = 0;
            symbols[at as usize] =
                Symbol { id: made, length: 1, previous: left.previous, next: right.next };
            if right.next < count {
                symbols[right.next as usize].previous = at;
                if let Some(m) = self.merges.find(made, symbols[right.next as usize].id) {
                    queue.push(Reverse((m.rank, at, m.made)));
                }
            }
            if left.previous < count {
                if let Some(m) = self.merges.find(symbols[left.previous as usize].id, made) {
                    queue.push(Reverse((m.rank, left.previous, m.made)));
                }
            }
        }
    }
}

/// As far as the crate's added tokens need a model.
impl Model for Bpe {
    type Trainer = BpeTrainer;

    fn tokenize(&self, sequence: &str) -> TokenizersResult<Vec<Token>> {
        let mut ids = Vec::new();
        self.append(sequence, &mut Scratch::default(), &mut ids);
        let token = |id| Token::new(id, self.id_to_token(id).unwrap_or_default(), (0, 0));
        Ok(ids.into_iter().map(token).collect())
    }
    fn token_to_id(&self, token: &str) -> Option<u32> {
        self.spellings.find(token)
    }
    fn id_to_token(&self, id: u32) -> Option<String> {
        self.spellings.spelling(id).map(str::to_owned)
    }
    fn get_vocab(&self) -> HashMap<String, u32> {
        let all = 0..self.spellings.by_id.len() as u32;
        all.filter_map(|id| Some((self.id_to_token(id)?, id))).collect()
    }
    fn get_vocab_size(&self) -> usize {
        self.spellings.len()
    }
    fn save(&self, _: &Path, _: Option<&str>) -> TokenizersResult<Vec<PathBuf>> {
        Err("this model is not saved".into())
    }
    fn get_trainer(&self) -> BpeTrainer {
        BpeTrainer::default()
    }
}
