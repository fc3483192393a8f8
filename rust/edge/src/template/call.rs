//! Arguments of a call and their binding to parameters.

use std::sync::Arc;

use super::error::{runtime, type_error, Outcome};
use super::value::Value;

#[derive(Default, Clone)]
pub struct Arguments {
    pub positional: Vec<Value>,
    pub named: Vec<(Arc<str>, Value)>,
}

/// Arguments in the order of the parameters of a function.
pub struct Bound {
    function: &'static str,
    values: Vec<Option<Value>>,
}

impl Arguments {
    pub fn of(positional: Vec<Value>) -> Arguments {
        Arguments { positional, named: Vec::new() }
    }

    /// Binds to parameters, the first `required` of which have no default.
    pub fn bind(
        &self,
        function: &'static str,
        parameters: &[&str],
        required: usize,
    ) -> Outcome<Bound> {
        if self.positional.len() > parameters.len() {
            return Err(type_error(format!(
                "{function}() takes at most {} arguments ({} given)",
                parameters.len(),
                self.positional.len()
            )));
        }
        let mut values: Vec<Option<Value>> = self.positional.iter().cloned().map(Some).collect();
        values.resize(parameters.len(), None);
        for (name, value) in &self.named {
            let Some(position) = parameters.iter().position(|p| **p == **name) else {
                return Err(type_error(format!(
                    "{function}() got an unexpected keyword argument '{name}'"
                )));
            };
            if values[position].is_some() {
                return Err(type_error(format!(
                    "{function}() got multiple values for argument '{name}'"
                )));
            }
            values[position] = Some(value.clone());
        }
        if let Some(missing) = values.iter().take(required).position(Option::is_none) {
            return Err(type_error(format!(
                "{function}() missing required argument: '{}'",
                parameters[missing]
            )));
        }
        Ok(Bound { function, values })
    }

    /// Binds a function that knows no keywords.
    pub fn bind_positional(
        &self,
        function: &'static str,
        most: usize,
        required: usize,
    ) -> Outcome<Bound> {
        if !self.named.is_empty() {
            return Err(type_error(format!("{function}() takes no keyword arguments")));
        }
        let given = self.positional.len();
        if given > most || given < required {
            return Err(type_error(format!(
                "{function}() takes {required} to {most} arguments ({given} given)"
            )));
        }
        let mut values: Vec<Option<Value>> = self.positional.iter().cloned().map(Some).collect();
        values.resize(most, None);
        Ok(Bound { function, values })
    }
}

impl Bound {
    pub fn get(&self, position: usize) -> Option<&Value> {
        self.values[position].as_ref()
    }

    /// Absent and None alike.
    pub fn get_some(&self, position: usize) -> Option<&Value> {
        self.get(position).filter(|value| !matches!(value, Value::None))
    }

    pub fn value(&self, position: usize) -> Value {
        self.values[position].clone().unwrap_or(Value::None)
    }

    pub fn truth(&self, position: usize, default: bool) -> bool {
        self.get(position).map_or(default, Value::truth)
    }

    pub fn integer(&self, position: usize, default: i128) -> Outcome<i128> {
        match self.get(position) {
            None => Ok(default),
            Some(Value::Undefined(undefined)) => Err(runtime(undefined.message.clone())),
            Some(value) => value.integer().ok_or_else(|| {
                type_error(format!(
                    "{}(): '{}' object cannot be interpreted as an integer",
                    self.function,
                    value.type_name()
                ))
            }),
        }
    }

    /// A string argument; nothing when it is absent.
    pub fn text(&self, position: usize) -> Outcome<Option<Arc<str>>> {
        match self.get(position) {
            None => Ok(None),
            Some(Value::Str(text)) => Ok(Some(text.text.clone())),
            Some(value) => Err(type_error(format!(
                "{}() argument {} must be str, not {}",
                self.function,
                position + 1,
                value.type_name()
            ))),
        }
    }

    pub fn required_text(&self, position: usize) -> Outcome<Arc<str>> {
        self.text(position)?
            .ok_or_else(|| type_error(format!("{}() needs a string", self.function)))
    }
}
