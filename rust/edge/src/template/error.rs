//! Why a template could not be compiled or rendered.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The source is no template.
    Syntax,
    /// The template called raise_exception.
    Raised,
    /// An operation that Python refuses too.
    Runtime,
    /// A limit of this implementation.
    Limit,
    /// The request is no JSON object of the expected shape.
    Request,
    /// Legal in jinja2, not implemented here.
    Unsupported,
}

#[derive(Clone, Debug)]
pub struct Error {
    pub kind: Kind,
    pub message: String,
    /// Line of the template, from 1; 0 when unknown.
    pub line: u32,
}

pub type Outcome<T> = Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.line) {
            (Kind::Raised, _) | (_, 0) => write!(out, "{}", self.message),
            (_, line) => write!(out, "{} (line {line} of the template)", self.message),
        }
    }
}

pub fn error(kind: Kind, message: impl Into<String>) -> Error {
    Error { kind, message: message.into(), line: 0 }
}

pub fn runtime(message: impl Into<String>) -> Error {
    error(Kind::Runtime, message)
}

pub fn type_error(message: impl Into<String>) -> Error {
    error(Kind::Runtime, message)
}

pub fn limit(message: impl Into<String>) -> Error {
    error(Kind::Limit, message)
}
