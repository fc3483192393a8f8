//! Evaluates the expressions of a template.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::ast::{CallArguments, Comparison, Expr, Literal};
use super::attribute::{build_dict, get_attribute, get_item, slice};
use super::call::Arguments;
use super::error::{error, limit, runtime, type_error, Kind, Outcome};
use super::filters::apply_filter;
use super::methods::call_method;
use super::operators::{binary, compare, negative, positive};
use super::predicates::apply_predicate;
use super::render::Renderer;
use super::scope::Scope;
use super::text::{to_text, write_text};
use super::value::{Cycler, Dict, Function, Joiner, Range, Text, Value};

/// jinja2's MAX_RANGE of the sandbox.
const RANGE_LIMIT: usize = 100_000;

/// Filters that look at the items of a value and not into them.
const SHALLOW_FILTERS: &[&str] = &[
    "attr",
    "batch",
    "count",
    "d",
    "default",
    "first",
    "items",
    "last",
    "length",
    "list",
    "reject",
    "rejectattr",
    "reverse",
    "select",
    "selectattr",
    "slice",
];

pub const GLOBALS: [(&str, Function); 7] = [
    ("range", Function::Range),
    ("dict", Function::Dict),
    ("namespace", Function::Namespace),
    ("cycler", Function::Cycler),
    ("joiner", Function::Joiner),
    ("raise_exception", Function::RaiseException),
    ("strftime_now", Function::StrftimeNow),
];

impl Renderer {
    pub fn evaluate(&mut self, expression: &Expr, scope: &Rc<Scope>) -> Outcome<Value> {
        self.enter()?;
        let value = self.evaluate_inside(expression, scope)?;
        self.leave();
        Ok(value)
    }

    fn evaluate_inside(&mut self, expression: &Expr, scope: &Rc<Scope>) -> Outcome<Value> {
        match expression {
            Expr::Literal(literal) => Ok(constant(literal)),
            Expr::Name(name) => Ok(match scope.get(name) {
                Some(value) => value,
                None => Value::undefined(format!("'{name}' is undefined")),
            }),
            Expr::List(items) => {
                let items = self.all(items, scope)?;
                self.made(Value::list(items)?)
            }
            Expr::Tuple(items) => {
                let items = self.all(items, scope)?;
                self.made(Value::tuple(items)?)
            }
            Expr::Dict(items) => self.dict(items, scope),
            Expr::Negative(operand) => negative(&self.evaluate(operand, scope)?),
            Expr::Positive(operand) => positive(&self.evaluate(operand, scope)?),
            Expr::Not(operand) => Ok(Value::Bool(!self.evaluate(operand, scope)?.truth())),
            Expr::Binary(operator, left, right) => {
                let left = self.evaluate(left, scope)?;
                let right = self.evaluate(right, scope)?;
                self.made(binary(*operator, &left, &right)?)
            }
            Expr::Concat(parts) => self.concat(parts, scope),
            Expr::And(left, right) => {
                let left = self.evaluate(left, scope)?;
                if left.truth() {
                    self.evaluate(right, scope)
                } else {
                    Ok(left)
                }
            }
            Expr::Or(left, right) => {
                let left = self.evaluate(left, scope)?;
                if left.truth() {
                    Ok(left)
                } else {
                    self.evaluate(right, scope)
                }
            }
            Expr::Compare(first, rest) => self.compare_chain(first, rest, scope),
            Expr::Conditional { test, then, otherwise } => {
                if self.evaluate(test, scope)?.truth() {
                    return self.evaluate(then, scope);
                }
                match otherwise {
                    Some(otherwise) => self.evaluate(otherwise, scope),
                    None => Ok(Value::undefined(
                        "the inline if-expression evaluated to false and no else section was defined.",
                    )),
                }
            }
            Expr::Attribute(object, name) => get_attribute(&self.evaluate(object, scope)?, name),
            Expr::Item(object, index) => self.item(object, index, scope),
            Expr::Slice(_) => Err(error(Kind::Unsupported, "a slice inside a tuple of indexes")),
            Expr::Call(callee, arguments) => {
                let callee = self.evaluate(callee, scope)?;
                let arguments = self.arguments(arguments, scope)?;
                let result = self.call(&callee, arguments)?;
                self.made(result)
            }
            Expr::Filter(operand, name, arguments) => {
                let operand = match operand {
                    Some(operand) => self.evaluate(operand, scope)?,
                    None => Value::text(""),
                };
                self.apply_filter(name, operand, arguments, scope)
            }
            Expr::Test(operand, name, arguments) => {
                let operand = self.evaluate(operand, scope)?;
                let arguments = self.arguments(arguments, scope)?;
                Ok(Value::Bool(apply_predicate(name, &operand, &arguments)?))
            }
        }
    }

    fn all(&mut self, items: &[Expr], scope: &Rc<Scope>) -> Outcome<Vec<Value>> {
        items.iter().map(|item| self.evaluate(item, scope)).collect()
    }

    fn dict(&mut self, items: &[(Expr, Expr)], scope: &Rc<Scope>) -> Outcome<Value> {
        let mut dict = Dict::default();
        for (key, value) in items {
            let key = self.evaluate(key, scope)?;
            key.check_key()?;
            dict.insert(key, self.evaluate(value, scope)?);
        }
        Value::dict(dict)
    }

    fn concat(&mut self, parts: &[Expr], scope: &Rc<Scope>) -> Outcome<Value> {
        let mut out = String::new();
        for part in parts {
            let value = self.evaluate(part, scope)?;
            write_text(&mut out, &value)?;
        }
        self.made(Value::string(out))
    }

    fn compare_chain(
        &mut self,
        first: &Expr,
        rest: &[(Comparison, Expr)],
        scope: &Rc<Scope>,
    ) -> Outcome<Value> {
        let mut left = self.evaluate(first, scope)?;
        for (operator, right) in rest {
            let right = self.evaluate(right, scope)?;
            self.spend(comparison_cost(*operator, &left, &right))?;
            if !compare(*operator, &left, &right)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    fn item(&mut self, object: &Expr, index: &Expr, scope: &Rc<Scope>) -> Outcome<Value> {
        let object = self.evaluate(object, scope)?;
        let Expr::Slice(parts) = index else {
            let index = self.evaluate(index, scope)?;
            return get_item(&object, &index);
        };
        let mut bounds = [Value::None, Value::None, Value::None];
        for (bound, part) in bounds.iter_mut().zip(parts.iter()) {
            if let Some(part) = part {
                *bound = self.evaluate(part, scope)?;
            }
        }
        self.made(slice(&object, &bounds)?)
    }

    pub fn arguments(&mut self, call: &CallArguments, scope: &Rc<Scope>) -> Outcome<Arguments> {
        let mut arguments = Arguments::of(self.all(&call.positional, scope)?);
        for (name, value) in &call.named {
            arguments.named.push((name.clone(), self.evaluate(value, scope)?));
        }
        if let Some(star) = &call.star {
            let more = self.evaluate(star, scope)?.iterate()?;
            self.spend(more.len() as u64)?;
            arguments.positional.extend(more);
        }
        if let Some(stars) = &call.double_star {
            let Value::Dict(dict) = self.evaluate(stars, scope)? else {
                return Err(type_error("argument after ** must be a mapping"));
            };
            for (key, value) in &dict.entries {
                let Value::Str(Text { text, .. }) = key else {
                    return Err(type_error("keywords must be strings"));
                };
                if arguments.named.iter().any(|(name, _)| name == text) {
                    let message = format!("got multiple values for keyword argument '{text}'");
                    return Err(type_error(message));
                }
                arguments.named.push((text.clone(), value.clone()));
            }
        }
        Ok(arguments)
    }

    pub fn apply_filter(
        &mut self,
        name: &str,
        operand: Value,
        arguments: &CallArguments,
        scope: &Rc<Scope>,
    ) -> Outcome<Value> {
        let arguments = self.arguments(arguments, scope)?;
        let extra = arguments.positional.iter().map(Value::weight).fold(1, u64::saturating_add);
        let cost = if SHALLOW_FILTERS.contains(&name) {
            operand.items_or_blocks().saturating_mul(extra)
        } else {
            let passes = if name.contains("sort") || name == "groupby" { 16 } else { 2 };
            operand.weight().saturating_mul(passes).saturating_add(extra)
        };
        self.spend(cost)?;
        let result = apply_filter(name, &operand, &arguments)?;
        self.made(result)
    }

    /// The call of a call block, with the block as its argument "caller".
    pub fn call_with_caller(
        &mut self,
        call: &Expr,
        caller: Value,
        scope: &Rc<Scope>,
    ) -> Outcome<Value> {
        let Expr::Call(callee, arguments) = call else {
            return Err(runtime("a call block without a call"));
        };
        let callee = self.evaluate(callee, scope)?;
        let mut arguments = self.arguments(arguments, scope)?;
        arguments.named.push((Arc::from("caller"), caller));
        self.call(&callee, arguments)
    }

    fn call(&mut self, callee: &Value, arguments: Arguments) -> Outcome<Value> {
        match callee {
            Value::Macro(called) => self.call_macro(called, arguments),
            Value::Method(method) => {
                let arguments_cost =
                    arguments.positional.iter().map(Value::weight).fold(0, u64::saturating_add);
                let shallow = matches!(method.receiver, Value::Dict(_) | Value::Loop(_));
                let receiver_cost = if shallow {
                    method.receiver.items_or_blocks()
                } else {
                    method.receiver.weight()
                };
                self.spend(receiver_cost.saturating_add(arguments_cost))?;
                call_method(&method.receiver, &method.name, &arguments)
            }
            Value::Function(function) => self.call_function(*function, arguments),
            Value::Loop(state) => {
                let Some((node, scope)) = &state.recursive else {
                    return Err(type_error(
                        "The loop must have the 'recursive' marker to be called recursively.",
                    ));
                };
                let iterable = arguments.bind("loop", &["iterable"], 1)?.value(0);
                let outer = std::mem::take(&mut self.out);
                let result = self.for_loop(node, iterable, scope, state.depth0 + 1);
                let text = std::mem::replace(&mut self.out, outer);
                result?;
                Ok(Value::string(text))
            }
            Value::Joiner(joiner) => {
                let first = !joiner.used.replace(true);
                Ok(if first { Value::text("") } else { joiner.separator.clone() })
            }
            Value::Undefined(undefined) => Err(runtime(undefined.message.clone())),
            _ => Err(type_error(format!("'{}' object is not callable", callee.type_name()))),
        }
    }

    fn call_function(&mut self, function: Function, arguments: Arguments) -> Outcome<Value> {
        match function {
            Function::RaiseException => {
                let message = arguments.bind("raise_exception", &["message"], 1)?.value(0);
                Err(error(Kind::Raised, to_text(&message)?))
            }
            Function::StrftimeNow => {
                let bound = arguments.bind("strftime_now", &["format"], 1)?;
                Ok(Value::string(self.clock.format(&bound.required_text(0)?)?))
            }
            Function::Range => range(&arguments),
            Function::Dict => Value::dict(build_dict(&arguments)?),
            Function::Namespace => self.new_namespace(build_dict(&arguments)?),
            Function::Cycler => {
                if arguments.positional.is_empty() {
                    return Err(runtime("at least one item has to be provided"));
                }
                let items = Value::items(arguments.positional)?;
                Ok(Value::Cycler(Rc::new(Cycler { items, position: Cell::new(0) })))
            }
            Function::Joiner => {
                let bound = arguments.bind("joiner", &["sep"], 0)?;
                let separator = bound.get(0).cloned().unwrap_or_else(|| Value::text(", "));
                Ok(Value::Joiner(Rc::new(Joiner { separator, used: Cell::new(false) })))
            }
        }
    }
}

/// Steps of one comparison at most.
fn comparison_cost(operator: Comparison, left: &Value, right: &Value) -> u64 {
    match (operator, right) {
        (Comparison::In | Comparison::NotIn, Value::Str(_)) => right.weight(),
        (Comparison::In | Comparison::NotIn, Value::Dict(_)) => left.weight(),
        (Comparison::In | Comparison::NotIn, _) => {
            right.items_or_blocks().saturating_mul(left.weight())
        }
        _ => left.weight().min(right.weight()),
    }
}

fn constant(literal: &Literal) -> Value {
    match literal {
        Literal::None => Value::None,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(value) => Value::Int(*value),
        Literal::Float(value) => Value::Float(*value),
        Literal::Str(text) => Value::Str(Text { text: text.clone(), markup: false }),
    }
}

fn range(arguments: &Arguments) -> Outcome<Value> {
    let bound = arguments.bind_positional("range", 3, 1)?;
    let first = bound.integer(0, 0)?;
    let range = if bound.get(1).is_some() {
        Range { start: first, stop: bound.integer(1, 0)?, step: bound.integer(2, 1)? }
    } else {
        Range { start: 0, stop: first, step: 1 }
    };
    let huge = |value: i128| value.unsigned_abs() > 1 << 100;
    if range.step == 0 {
        return Err(runtime("range() arg 3 must not be zero"));
    }
    if huge(range.start) || huge(range.stop) || huge(range.step) || range.len() > RANGE_LIMIT {
        return Err(limit(format!("range() has more than {RANGE_LIMIT} items")));
    }
    Ok(Value::Range(range))
}
