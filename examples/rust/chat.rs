//! chat MODEL [PROMPT]: answers through the C library. One file, no crate:
//! rustc examples/rust/chat.rs -L <libraries> -l zllm

use std::ffi::{c_char, c_void, CStr, CString};
use std::ptr::{null, null_mut};

#[repr(C)]
struct Error {
    size: usize,
    code: i32,
    http_status: i32,
    field: [c_char; 256],
    message: [c_char; 2048],
}

#[repr(C)]
struct Options {
    size: usize,
    model: *const c_char,
    texts: [*const c_char; 5],
    numbers: [u64; 7],
    counts: [u32; 4],
}

#[repr(C)]
struct Item {
    size: usize,
    event: *const c_char,
    event_size: usize,
    data: *const c_char,
    data_size: usize,
}

extern "C" {
    fn zllm_engine_load(options: *const Options, engine: *mut *mut c_void, error: *mut Error) -> i32;
    fn zllm_engine_free(engine: *mut c_void);
    fn zllm_submit(
        engine: *mut c_void,
        dialect: *const c_char,
        body: *const c_char,
        body_size: usize,
        answer: *mut *mut c_void,
        error: *mut Error,
    ) -> i32;
    fn zllm_answer_next(
        answer: *mut c_void,
        milliseconds: i64,
        item: *mut Item,
        error: *mut Error,
    ) -> i32;
    fn zllm_answer_free(answer: *mut c_void);
}

const END: i32 = 2;

fn check(status: i32, error: &Error) -> Result<i32, String> {
    if status >= 0 {
        return Ok(status);
    }
    let message = unsafe { CStr::from_ptr(error.message.as_ptr()) };
    Err(format!("{} (code {status})", message.to_string_lossy()))
}

fn run(model: &str, prompt: &str) -> Result<(), String> {
    let mut error: Error = unsafe { std::mem::zeroed() };
    error.size = std::mem::size_of::<Error>();
    let model = CString::new(model).map_err(|e| e.to_string())?;
    let options = Options {
        size: std::mem::size_of::<Options>(),
        model: model.as_ptr(),
        texts: [null(); 5],
        numbers: [0; 7],
        counts: [0; 4],
    };
    // A prompt without quotes and escapes; programs use a JSON crate.
    let body = format!(
        r#"{{"messages":[{{"role":"user","content":"{prompt}"}}],"max_tokens":16,"stream":true}}"#
    );
    let mut engine = null_mut();
    let mut answer = null_mut();
    unsafe {
        check(zllm_engine_load(&options, &mut engine, &mut error), &error)?;
        let status = zllm_submit(
            engine,
            c"chat".as_ptr(),
            body.as_ptr().cast(),
            body.len(),
            &mut answer,
            &mut error,
        );
        check(status, &error)?;
        let mut item: Item = std::mem::zeroed();
        item.size = std::mem::size_of::<Item>();
        while check(zllm_answer_next(answer, -1, &mut item, &mut error), &error)? != END {
            println!("{}", CStr::from_ptr(item.data).to_string_lossy());
        }
        zllm_answer_free(answer);
        zllm_engine_free(engine);
    }
    Ok(())
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().unwrap_or_default();
    let prompt = arguments.next().unwrap_or_else(|| String::from("Say hello."));
    if let Err(message) = run(&model, &prompt) {
        eprintln!("{message}");
        std::process::exit(1);
    }
}
