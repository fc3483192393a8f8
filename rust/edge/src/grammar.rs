//! Grammars as masks over a vocabulary, by llguidance.

use crate::abi::{guarded, values, EdgeBytes, EdgeSlice, EdgeWords, Failure, Kind};
use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use std::sync::Arc;
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

/// Longest source of a grammar; a large tool schema has some hundred kilobytes.
const MAX_SOURCE: usize = 4 << 20;
/// What may come next at one place: objects of some thousand optional members have this many.
const MAX_ITEMS_IN_ROW: usize = 20_000;
/// Marks a token whose spelling text cannot make.
const SPECIAL_MARK: u8 = 0xff;
/// Rules and schemas are compiled by functions that call themselves, as deep as a source of
/// MAX_SOURCE can chain them; only what is touched of it takes memory.
const COMPILER_STACK: usize = 512 << 20;

/// A vocabulary made ready for grammars; shared by all matchers over it.
pub struct EdgeGrammarVocabulary {
    factory: ParserFactory,
    size: usize,
}

/// One text under one grammar.
pub struct EdgeGrammar {
    matcher: Matcher,
    size: usize,
}

/// The message as one line, without the compiler's listings of the source.
fn argument(error: impl std::fmt::Display) -> Failure {
    let text = error.to_string();
    if text.starts_with("panic:") {
        return Failure::new(Kind::ResourceExhausted, "the grammar is too large to compile");
    }
    let is_listing = |line: &str| {
        let (number, rest) = line.split_once('|').unwrap_or((line, ""));
        let is_marker = line.chars().all(|c| c == '^' || c == ' ');
        is_marker
            || line == "<non-verbose/>"
            || (!rest.is_empty() && number.trim().parse::<u32>().is_ok())
    };
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !is_listing(line)).collect();
    Failure::argument(lines.join(" "))
}

fn make_vocabulary(
    bytes: &[u8],
    ends: &[u32],
    flags: &[u8],
    end_of_sequence: u32,
) -> Result<EdgeGrammarVocabulary, Failure> {
    if flags.len() != ends.len() || end_of_sequence as usize >= ends.len() {
        return Err(Failure::argument("the vocabulary's tables do not fit each other"));
    }
    let mut words = Vec::with_capacity(ends.len());
    let mut start = 0;
    for (end, flag) in ends.iter().zip(flags) {
        let token = bytes.get(start..*end as usize);
        let token = token.ok_or_else(|| Failure::argument("a token ends beyond the bytes"))?;
        // Special tokens lie under a byte that no text has, so only their names reach them.
        let mut word = Vec::with_capacity(token.len() + 1);
        if flag & 2 != 0 {
            word.push(SPECIAL_MARK);
        }
        if flag & 1 != 0 {
            word.extend_from_slice(token);
        }
        words.push(word);
        start = *end as usize;
    }
    let info = TokRxInfo::new(words.len() as u32, end_of_sequence);
    let environment: TokEnv = Arc::new(ApproximateTokEnv::new(TokTrie::from(&info, &words)));
    let mut factory = ParserFactory::new_simple(&environment).map_err(argument)?;
    factory.quiet();
    let limits = factory.limits_mut();
    limits.verbose_errors = false;
    limits.max_items_in_row = MAX_ITEMS_IN_ROW;
    Ok(EdgeGrammarVocabulary { factory, size: words.len() })
}

fn compile(
    vocabulary: &EdgeGrammarVocabulary,
    kind: &str,
    source: &str,
) -> Result<EdgeGrammar, Failure> {
    if source.len() > MAX_SOURCE {
        let what = format!("a grammar of {} bytes is longer than {MAX_SOURCE}", source.len());
        return Err(Failure::new(Kind::ResourceExhausted, what));
    }
    if !matches!(kind, "json_schema" | "regex" | "lark") {
        return Err(Failure::argument(format!("no such kind of grammar: {kind:?}")));
    }
    let make = || -> Result<Matcher, Failure> {
        let grammar = TopLevelGrammar::from_tagged_str(kind, source).map_err(argument)?;
        Ok(Matcher::new(vocabulary.factory.create_parser(grammar)))
    };
    let matcher = std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(COMPILER_STACK);
        let thread = builder.spawn_scoped(scope, make).map_err(|error| {
            Failure::new(Kind::ResourceExhausted, format!("no thread to compile in: {error}"))
        })?;
        thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    })?;
    match matcher.get_error() {
        Some(error) => Err(argument(error)),
        None => Ok(EdgeGrammar { matcher, size: vocabulary.size }),
    }
}

impl EdgeGrammar {
    fn mask(&mut self) -> Result<Vec<u32>, Failure> {
        let allowed = self.matcher.compute_mask_or_eos().map_err(argument)?;
        let mut words = allowed.as_slice().to_vec();
        words.resize(self.size.div_ceil(32), 0);
        if self.size % 32 != 0 {
            *words.last_mut().expect("not empty") &= (1 << (self.size % 32)) - 1;
        }
        Ok(words)
    }
}

/// # Safety
/// Pointers are valid as edge.h says; `out` receives an owner.
#[no_mangle]
pub unsafe extern "C" fn edge_grammar_vocabulary_new(
    bytes: EdgeSlice,
    ends: *const u32,
    flags: EdgeSlice,
    end_of_sequence: u32,
    out: *mut *mut EdgeGrammarVocabulary,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let ends = values(ends, flags.size);
            let made = make_vocabulary(bytes.bytes(), ends, flags.bytes(), end_of_sequence)?;
            out.write(Box::into_raw(Box::new(made)));
            Ok(())
        })
    }
}

/// # Safety
/// `vocabulary` came from this library and is given back once, or is null.
#[no_mangle]
pub unsafe extern "C" fn edge_grammar_vocabulary_free(vocabulary: *mut EdgeGrammarVocabulary) {
    if !vocabulary.is_null() {
        unsafe {
            guarded(std::ptr::null_mut(), || {
                drop(Box::from_raw(vocabulary));
                Ok(())
            })
        };
    }
}

/// # Safety
/// As `edge_grammar_vocabulary_new`.
#[no_mangle]
pub unsafe extern "C" fn edge_grammar_vocabulary_extends(
    vocabulary: *const EdgeGrammarVocabulary,
    bytes: EdgeSlice,
    out: *mut u32,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let trie = (*vocabulary).factory.tok_env().tok_trie();
            out.write(u32::from(trie.has_extensions(bytes.bytes())));
            Ok(())
        })
    }
}

/// # Safety
/// As `edge_grammar_vocabulary_new`.
#[no_mangle]
pub unsafe extern "C" fn edge_grammar_new(
    vocabulary: *const EdgeGrammarVocabulary,
    kind: EdgeSlice,
    source: EdgeSlice,
    out: *mut *mut EdgeGrammar,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let made = compile(&*vocabulary, kind.text("the kind")?, source.text("the grammar")?)?;
            out.write(Box::into_raw(Box::new(made)));
            Ok(())
        })
    }
}

/// # Safety
/// As `edge_grammar_vocabulary_new`.
#[no_mangle]
pub unsafe extern "C" fn edge_grammar_clone(
    grammar: *const EdgeGrammar,
    out: *mut *mut EdgeGrammar,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let grammar = &*grammar;
            let matcher = grammar.matcher.deep_clone();
            out.write(Box::into_raw(Box::new(EdgeGrammar { matcher, size: grammar.size })));
            Ok(())
        })
    }
}

/// # Safety
/// `grammar` came from this library and is given back once, or is null.
#[no_mangle]
pub unsafe extern "C" fn edge_grammar_free(grammar: *mut EdgeGrammar) {
    if !grammar.is_null() {
        unsafe {
            guarded(std::ptr::null_mut(), || {
                drop(Box::from_raw(grammar));
                Ok(())
            })
        };
    }
}

/// # Safety
/// As `edge_grammar_vocabulary_new`.
#[no_mangle]
pub unsafe extern "C" fn edge_grammar_mask(
    grammar: *mut EdgeGrammar,
    words: *mut EdgeWords,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            words.write((*grammar).mask()?.into());
            Ok(())
        })
    }
}

/// # Safety
/// As `edge_grammar_vocabulary_new`.
#[no_mangle]
pub unsafe extern "C" fn edge_grammar_consume(
    grammar: *mut EdgeGrammar,
    token: u32,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let grammar = &mut *grammar;
            // Checked first: the matcher does not come back from a token that it refuses.
            if token as usize >= grammar.size
                || grammar.matcher.validate_tokens(&[token]).map_err(argument)? != 1
            {
                return Err(Failure::argument(format!("the grammar does not allow token {token}")));
            }
            grammar.matcher.consume_token(token).map_err(argument)
        })
    }
}

/// # Safety
/// As `edge_grammar_vocabulary_new`.
#[no_mangle]
pub unsafe extern "C" fn edge_grammar_rollback(
    grammar: *mut EdgeGrammar,
    tokens: u32,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe { guarded(error, || (*grammar).matcher.rollback(tokens as usize).map_err(argument)) }
}

/// # Safety
/// As `edge_grammar_vocabulary_new`.
#[no_mangle]
pub unsafe extern "C" fn edge_grammar_forced(
    grammar: *mut EdgeGrammar,
    bytes: *mut EdgeBytes,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            bytes.write((*grammar).matcher.compute_ff_bytes().into());
            Ok(())
        })
    }
}

/// # Safety
/// As `edge_grammar_vocabulary_new`.
#[no_mangle]
pub unsafe extern "C" fn edge_grammar_state(
    grammar: *mut EdgeGrammar,
    accepting: *mut u32,
    stopped: *mut u32,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let matcher = &mut (*grammar).matcher;
            accepting.write(u32::from(matcher.is_accepting().map_err(argument)?));
            stopped.write(u32::from(matcher.is_stopped()));
            Ok(())
        })
    }
}
