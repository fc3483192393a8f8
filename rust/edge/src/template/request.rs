//! The names that a template sees, from a request: what apply_chat_template passes on.

use std::sync::Arc;

use super::error::{error, Error, Kind, Outcome};
use super::json_reader::read_json;
use super::value::{Dict, Value};

/// Names of apply_chat_template itself, which chat_template_kwargs cannot bind a second time.
const PARAMETERS: [&str; 4] = ["messages", "tools", "documents", "add_generation_prompt"];

fn refuse(message: impl Into<String>) -> Error {
    error(Kind::Request, message)
}

fn object(text: &str, what: &str) -> Outcome<Dict> {
    match read_json(text) {
        Ok(Value::Dict(dict)) => Ok((*dict).clone()),
        Ok(_) => Err(refuse(format!("{what} must be a JSON object"))),
        Err(error) => Err(refuse(format!("{what}: {}", error.message))),
    }
}

/// `request` is a JSON object with "messages"; its other members are names of the template too, and
/// so are those of "chat_template_kwargs". `special_tokens` is an object of strings.
pub fn names(request: &str, special_tokens: &str) -> Outcome<Vec<(Arc<str>, Value)>> {
    let request = object(request, "the request")?;
    check_messages(request.get_text("messages"))?;
    check_objects(request.get_text("tools"), "tools")?;
    check_objects(request.get_text("documents"), "documents")?;
    let mut names = Dict::default();
    for (name, value) in [
        ("tools", Value::None),
        ("documents", Value::None),
        ("add_generation_prompt", Value::Bool(true)),
    ] {
        names.insert(Value::text(name), value);
    }
    for (name, value) in object(special_tokens, "the special tokens")?.entries {
        names.insert(name, value);
    }
    let mut extra = None;
    for (name, value) in request.entries {
        match &name {
            Value::Str(text) if &*text.text == "chat_template_kwargs" => extra = Some(value),
            _ => names.insert(name, value),
        }
    }
    match extra {
        None | Some(Value::None) => {}
        Some(Value::Dict(extra)) => {
            for (name, value) in &extra.entries {
                let parameter = PARAMETERS
                    .iter()
                    .find(|known| matches!(name, Value::Str(text) if &*text.text == **known));
                if let Some(parameter) = parameter {
                    return Err(refuse(format!("chat_template_kwargs cannot set '{parameter}'")));
                }
                names.insert(name.clone(), value.clone());
            }
        }
        Some(_) => return Err(refuse("chat_template_kwargs must be an object")),
    }
    let entries = names.entries.into_iter();
    Ok(entries
        .filter_map(|(name, value)| match name {
            Value::Str(text) => Some((text.text, value)),
            _ => None,
        })
        .collect())
}

fn check_messages(messages: Option<&Value>) -> Outcome<()> {
    let Some(Value::List(messages)) = messages else {
        return Err(refuse("messages must be an array"));
    };
    if messages.items.is_empty() {
        return Err(refuse("messages is empty: a conversation has at least one message"));
    }
    match messages.items.iter().position(|message| !matches!(message, Value::Dict(_))) {
        Some(position) => Err(refuse(format!("messages[{position}] must be an object"))),
        None => Ok(()),
    }
}

fn check_objects(list: Option<&Value>, what: &str) -> Outcome<()> {
    let items = match list {
        None | Some(Value::None) => return Ok(()),
        Some(Value::List(items)) => &items.items,
        Some(_) => return Err(refuse(format!("{what} must be an array or null"))),
    };
    match items.iter().position(|item| !matches!(item, Value::Dict(_))) {
        Some(position) => Err(refuse(format!("{what}[{position}] must be an object"))),
        None => Ok(()),
    }
}
