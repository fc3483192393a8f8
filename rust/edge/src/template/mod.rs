//! Chat templates: jinja2 as transformers runs it, in an immutable sandbox with trim_blocks,
//! lstrip_blocks, loop controls and the tags and functions of apply_chat_template. Values behave as
//! the Python objects they stand for, because templates print, compare and slice them.

mod ast;
mod attribute;
mod brace;
mod call;
pub mod clock;
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
mod scope;
mod text;
mod text_methods;
mod tojson;
mod value;

use std::sync::Arc;

use ast::Statement;
use clock::Clock;
use error::{error, Kind, Outcome};
use scope::Scope;
use value::Value;

/// A template's source; the largest known one has 40 KiB.
pub const SOURCE_LIMIT: usize = 4 << 20;

/// A compiled template; several threads may render it at once.
pub struct Template {
    body: Vec<Statement>,
}

impl Template {
    pub fn compile(source: &str) -> Outcome<Template> {
        if source.len() > SOURCE_LIMIT {
            let message = format!("a template of more than {SOURCE_LIMIT} bytes");
            return Err(error(Kind::Limit, message));
        }
        Ok(Template { body: parser::parse(source)? })
    }

    /// The text of the template with the members of a JSON object as its names.
    pub fn render(&self, names: &str, clock: Clock) -> Outcome<String> {
        let Value::Dict(names) = json_reader::read_json(names)? else {
            return Err(error(Kind::Request, "the names of a template must be a JSON object"));
        };
        let scope = Scope::root();
        for (name, function) in evaluate::GLOBALS {
            scope.set(Arc::from(name), Value::Function(function));
        }
        for (name, value) in &names.entries {
            if let Value::Str(name) = name {
                scope.set(name.text.clone(), value.clone());
            }
        }
        render::render(&self.body, &scope, clock)
    }
}

#[cfg(test)]
mod template_test;
