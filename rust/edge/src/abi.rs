//! The shapes that cross the border, and the wrapper that every entry runs in.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

/// Counts up with every change of edge.h; the C++ side refuses another one.
pub const ABI_VERSION: u32 = 5;

/// Borrowed bytes; `data` may be null when `size` is 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EdgeSlice {
    pub data: *const u8,
    pub size: usize,
}

/// Bytes that Rust allocated; given back with `edge_bytes_free`.
#[repr(C)]
pub struct EdgeBytes {
    pub data: *mut u8,
    pub size: usize,
    pub capacity: usize,
}

/// 32-bit words that Rust allocated; given back with `edge_words_free`.
#[repr(C)]
pub struct EdgeWords {
    pub data: *mut u32,
    pub size: usize,
    pub capacity: usize,
}

/// Mirrors zllm::Code as far as the edge needs it; 0 is success.
#[derive(Clone, Copy)]
#[repr(i32)]
pub enum Kind {
    InvalidArgument = 1,
    InvalidFile = 2,
    NotFound = 3,
    Unsupported = 4,
    ResourceExhausted = 5,
    Internal = 6,
}

pub struct Failure {
    pub kind: Kind,
    pub message: String,
}

impl Failure {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Failure { kind, message: message.into() }
    }
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new(Kind::InvalidArgument, message)
    }
    pub fn file(message: impl Into<String>) -> Self {
        Self::new(Kind::InvalidFile, message)
    }
}

pub type Outcome = Result<(), Failure>;

impl EdgeSlice {
    /// # Safety
    /// `data` points to `size` readable bytes that outlive the result.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.size == 0 {
            return &[];
        }
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }
    /// # Safety
    /// As `bytes`.
    pub unsafe fn text<'a>(self, what: &str) -> Result<&'a str, Failure> {
        std::str::from_utf8(unsafe { self.bytes() })
            .map_err(|e| Failure::argument(format!("{what} is not valid UTF-8: {e}")))
    }
}

/// # Safety
/// `data` points to `size` readable values that outlive the result, or `size` is 0.
pub unsafe fn values<'a, T>(data: *const T, size: usize) -> &'a [T] {
    if size == 0 {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(data, size) }
}

impl From<Vec<u8>> for EdgeBytes {
    fn from(mut v: Vec<u8>) -> Self {
        let out = EdgeBytes { data: v.as_mut_ptr(), size: v.len(), capacity: v.capacity() };
        std::mem::forget(v);
        out
    }
}

impl From<Vec<u32>> for EdgeWords {
    fn from(mut v: Vec<u32>) -> Self {
        let out = EdgeWords { data: v.as_mut_ptr(), size: v.len(), capacity: v.capacity() };
        std::mem::forget(v);
        out
    }
}

thread_local! {
    static PANIC_PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

fn remember_panics_quietly() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let place = info.location().map(|l| l.to_string()).unwrap_or_default();
            PANIC_PLACE.with(|p| *p.borrow_mut() = place);
        }));
    });
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let what = payload
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into());
    PANIC_PLACE.with(|p| format!("panic at {}: {}", p.borrow(), what))
}

/// Runs one entry of the ABI: a failure or panic becomes a code, and its message goes to `error`
/// (which the caller then owns).
///
/// # Safety
/// `error` is null or points to a writable EdgeBytes.
pub unsafe fn guarded(error: *mut EdgeBytes, body: impl FnOnce() -> Outcome) -> i32 {
    remember_panics_quietly();
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return 0,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::new(Kind::Internal, panic_text(payload.as_ref())),
    };
    if !error.is_null() {
        unsafe { error.write(failure.message.into_bytes().into()) };
    }
    failure.kind as i32
}

#[no_mangle]
pub extern "C" fn edge_abi_version() -> u32 {
    ABI_VERSION
}

/// # Safety
/// `bytes` came from this library and is given back once.
#[no_mangle]
pub unsafe extern "C" fn edge_bytes_free(bytes: EdgeBytes) {
    if !bytes.data.is_null() {
        drop(unsafe { Vec::from_raw_parts(bytes.data, bytes.size, bytes.capacity) });
    }
}

/// # Safety
/// `words` came from this library and is given back once.
#[no_mangle]
pub unsafe extern "C" fn edge_words_free(words: EdgeWords) {
    if !words.data.is_null() {
        drop(unsafe { Vec::from_raw_parts(words.data, words.size, words.capacity) });
    }
}

/// For the tests of the border itself: panics inside.
///
/// # Safety
/// As `guarded`.
#[no_mangle]
pub unsafe extern "C" fn edge_test_panic(error: *mut EdgeBytes) -> i32 {
    unsafe { guarded(error, || panic!("on purpose")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(body: impl FnOnce() -> Outcome) -> (i32, String) {
        let mut error = EdgeBytes::from(Vec::new());
        let code = unsafe { guarded(&mut error, body) };
        let text = unsafe { Vec::from_raw_parts(error.data, error.size, error.capacity) };
        (code, String::from_utf8(text).unwrap())
    }

    #[test]
    fn success_writes_no_error() {
        assert_eq!(run(|| Ok(())), (0, String::new()));
    }

    #[test]
    fn a_failure_gives_its_kind_and_message() {
        let (code, message) = run(|| Err(Failure::file("tokenizer.json: no model")));
        assert_eq!(code, Kind::InvalidFile as i32);
        assert_eq!(message, "tokenizer.json: no model");
    }

    #[test]
    fn a_panic_becomes_an_internal_error_with_its_place() {
        let (code, message) = run(|| panic!("table {} is short", 3));
        assert_eq!(code, Kind::Internal as i32);
        assert!(message.contains("abi.rs:"), "{message}");
        assert!(message.ends_with("table 3 is short"), "{message}");
    }

    #[test]
    fn an_error_that_nobody_wants_is_dropped() {
        let code = unsafe { guarded(std::ptr::null_mut(), || panic!("unseen")) };
        assert_eq!(code, Kind::Internal as i32);
    }

    #[test]
    fn an_empty_slice_may_be_null() {
        let slice = EdgeSlice { data: std::ptr::null(), size: 0 };
        assert!(unsafe { slice.bytes() }.is_empty());
        assert!(unsafe { values::<u32>(std::ptr::null(), 0) }.is_empty());
    }

    #[test]
    fn text_that_is_not_utf8_is_refused_by_name() {
        let bytes = [b'a', 0xC3, b'('];
        let slice = EdgeSlice { data: bytes.as_ptr(), size: bytes.len() };
        let Err(failure) = (unsafe { slice.text("the template") }) else {
            panic!("accepted");
        };
        assert!(failure.message.starts_with("the template is not valid UTF-8"));
    }
}
