//! Chat templates behind the C ABI.

use crate::abi::{guarded, EdgeBytes, EdgeSlice, Failure, Kind};
use crate::template::clock::Clock;
use crate::template::error::{Error, Kind as Reason};
use crate::template::Template;

pub struct EdgeTemplate {
    template: Template,
}

/// `compiling`: the template itself is at fault, else the request.
fn failure(error: Error, compiling: bool) -> Failure {
    let kind = match error.kind {
        Reason::Syntax => Kind::InvalidFile,
        Reason::Limit if compiling => Kind::InvalidFile,
        Reason::Limit => Kind::ResourceExhausted,
        Reason::Unsupported => Kind::Unsupported,
        Reason::Raised | Reason::Runtime | Reason::Request => Kind::InvalidArgument,
    };
    Failure::new(kind, error.to_string())
}

/// # Safety
/// `source` is readable, `out` is writable; see edge.h.
#[no_mangle]
pub unsafe extern "C" fn edge_template_compile(
    source: EdgeSlice,
    out: *mut *mut EdgeTemplate,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let source = source.text("the chat template")?;
            let template = Template::compile(source).map_err(|e| failure(e, true))?;
            out.write(Box::into_raw(Box::new(EdgeTemplate { template })));
            Ok(())
        })
    }
}

/// # Safety
/// `template` came from `edge_template_compile` and is given back once.
#[no_mangle]
pub unsafe extern "C" fn edge_template_free(template: *mut EdgeTemplate) {
    if !template.is_null() {
        let _ = unsafe { guarded(std::ptr::null_mut(), || Ok(drop(Box::from_raw(template)))) };
    }
}

/// # Safety
/// As `edge_template_compile`; `template` is alive.
#[no_mangle]
pub unsafe extern "C" fn edge_template_render(
    template: *const EdgeTemplate,
    request: EdgeSlice,
    special_tokens: EdgeSlice,
    local_seconds: i64,
    out: *mut EdgeBytes,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let request = request.text("the request")?;
            let special_tokens = special_tokens.text("the special tokens")?;
            let clock = Clock::from_local_seconds(local_seconds);
            let rendered = (*template).template.render(request, special_tokens, clock);
            out.write(rendered.map_err(|e| failure(e, false))?.into_bytes().into());
            Ok(())
        })
    }
}

/// # Safety
/// As `edge_template_render`.
#[no_mangle]
pub unsafe extern "C" fn edge_template_reads(
    template: *const EdgeTemplate,
    name: EdgeSlice,
    out: *mut u32,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let name = name.text("the name")?;
            out.write(u32::from((*template).template.names().contains(name)));
            Ok(())
        })
    }
}
