//! Chat templates: jinja2 as transformers runs it, in an immutable sandbox with trim_blocks,
//! lstrip_blocks, loop controls and the tags and functions of apply_chat_template. Values behave as
//! the Python objects they stand for, because templates print, compare and slice them.

mod ast;
mod attribute;
mod brace;
mod call;
pub mod clock;
mod dict;
pub mod error;
mod evaluate;
mod filters;
mod filters_sequence;
mod filters_text;
mod gen;
mod json_reader;
mod lexer;
mod methods;
mod number;
mod operators;
mod parser;
mod parser_expression;
mod percent;
mod predicates;
mod render;
mod request;
mod scope;
mod text;
mod text_methods;
mod tojson;
mod value;

use std::collections::HashSet;
use std::sync::Arc;

use clock::Clock;
use error::{error, Kind, Outcome};
use parser::Parsed;
use scope::Scope;
use value::Value;

/// A template's source; the largest known one has 40 KiB.
pub const SOURCE_LIMIT: usize = 4 << 20;

/// A compiled template; several threads may render it at once.
pub struct Template {
    parsed: Parsed,
}

impl Template {
    pub fn compile(source: &str) -> Outcome<Template> {
        if source.len() > SOURCE_LIMIT {
            let message = format!("a template of more than {SOURCE_LIMIT} bytes");
            return Err(error(Kind::Limit, message));
        }
        Ok(Template { parsed: parser::parse(source)? })
    }

    /// The text of the template for a request and special tokens, both JSON objects.
    pub fn render(&self, request: &str, special_tokens: &str, clock: Clock) -> Outcome<String> {
        let scope = Scope::root();
        for (name, function) in evaluate::GLOBALS {
            scope.set(Arc::from(name), Value::Function(function));
        }
        for (name, value) in request::names(request, special_tokens)? {
            scope.set(name, value);
        }
        render::render(&self.parsed.body, &scope, clock)
    }

    /// Names that the template reads anywhere.
    pub fn names(&self) -> &HashSet<Arc<str>> {
        &self.parsed.names
    }
}
