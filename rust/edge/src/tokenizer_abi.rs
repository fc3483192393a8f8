//! The entries of edge.h that make, ask and free tokenizers.

use crate::abi::{guarded, EdgeBytes, EdgeSlice, EdgeWords, Failure, Kind};
use crate::tokenizer::EdgeTokenizer;
use crate::tokenizer_json;
use crate::vocabulary::{self, EdgeVocabulary};

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
            let made = tokenizer_json::read(json.bytes())?;
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
    mark: EdgeSlice,
    ids: *mut EdgeWords,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let text = text.text("the text")?;
            let mark = mark.text("the mark")?;
            ids.write((*tokenizer).encode(text, parse_special != 0, mark)?.into());
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
            let Some(found) = (*tokenizer).id_of(token) else {
                return Err(Failure::new(Kind::NotFound, "no such token"));
            };
            id.write(found);
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
            ids.write((*tokenizer).begin().to_vec().into());
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
            leading_spaces.write((*tokenizer).leading_spaces());
            Ok(())
        })
    }
}
