//! Runs the statements of a template; evaluate.rs has the expressions.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::ast::{Expr, ForNode, MacroNode, Statement, StatementKind, Target};
use super::call::Arguments;
use super::clock::Clock;
use super::error::{limit, runtime, type_error, Outcome};
use super::scope::Scope;
use super::text::write_text;
use super::value::{Dict, LoopState, Macro, Value};

/// Steps of one rendering: a large real template with a thousand messages needs under a million.
pub const FUEL_LIMIT: u64 = 20_000_000;
/// Bytes of all strings and lists made in one rendering, kept or not.
const PRODUCTION_LIMIT: u64 = 1 << 30;
/// The rendered text; far above any context window.
const OUTPUT_LIMIT: usize = 64 << 20;
/// Nested evaluations; with a frame of at most two KiB they stay within two MiB of stack.
const DEPTH_LIMIT: u32 = 600;
/// Bytes of text that cost as much as one step.
const BYTES_PER_STEP: u64 = 64;

/// Steps for what stays in memory up to the end of the rendering.
const KEPT_COST: u64 = 100;

#[derive(PartialEq, Eq)]
pub enum Flow {
    Next,
    Break,
    Continue,
}

pub struct Renderer {
    pub out: String,
    pub clock: Clock,
    line: u32,
    fuel: u64,
    produced: u64,
    depth: u32,
    /// Frames and namespaces that can hold themselves; emptied at the end.
    cyclic_scopes: Vec<Rc<Scope>>,
    namespaces: Vec<Rc<RefCell<Dict>>>,
}

impl Drop for Renderer {
    fn drop(&mut self) {
        for scope in &self.cyclic_scopes {
            scope.clear();
        }
        for namespace in &self.namespaces {
            let held = std::mem::take(&mut *namespace.borrow_mut());
            drop(held);
        }
    }
}

/// The text of a template with these names, which the root frame holds.
pub fn render(body: &[Statement], scope: &Rc<Scope>, clock: Clock) -> Outcome<String> {
    let mut renderer = Renderer {
        out: String::new(),
        clock,
        line: 0,
        fuel: FUEL_LIMIT,
        produced: 0,
        depth: 0,
        cyclic_scopes: Vec::new(),
        namespaces: Vec::new(),
    };
    let root = Scope::inside(scope);
    let finished = renderer.run(body, &root);
    root.clear();
    match finished {
        Ok(_) => Ok(std::mem::take(&mut renderer.out)),
        Err(mut error) => {
            if error.line == 0 {
                error.line = renderer.line;
            }
            Err(error)
        }
    }
}

impl Renderer {
    pub fn spend(&mut self, steps: u64) -> Outcome<()> {
        self.fuel = self
            .fuel
            .checked_sub(steps)
            .ok_or_else(|| limit(format!("the template took more than {FUEL_LIMIT} steps")))?;
        Ok(())
    }

    pub fn enter(&mut self) -> Outcome<()> {
        self.spend(1)?;
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(limit(format!("evaluation nests deeper than {DEPTH_LIMIT}")));
        }
        Ok(())
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Counts the size of a value that an operation made.
    pub fn made(&mut self, value: Value) -> Outcome<Value> {
        let bytes = match &value {
            Value::Str(text) => text.text.len() as u64,
            Value::List(items) | Value::Tuple(items) | Value::View(_, items) => {
                (items.items.len() * std::mem::size_of::<Value>()) as u64
            }
            Value::Generator(generator) => match &*generator.rest.borrow() {
                Some(Ok(items)) => (items.len() * std::mem::size_of::<Value>()) as u64,
                _ => 0,
            },
            _ => return Ok(value),
        };
        self.produced += bytes;
        if self.produced > PRODUCTION_LIMIT {
            return Err(limit(format!("the template made more than {PRODUCTION_LIMIT} bytes")));
        }
        self.spend(bytes / BYTES_PER_STEP)?;
        Ok(value)
    }

    pub fn new_namespace(&mut self, names: Dict) -> Outcome<Value> {
        self.spend(KEPT_COST + names.len() as u64)?;
        let namespace = Rc::new(RefCell::new(names));
        self.namespaces.push(namespace.clone());
        Ok(Value::Namespace(namespace))
    }

    fn write(&mut self, text: &str) -> Outcome<()> {
        if self.out.len() + text.len() > OUTPUT_LIMIT {
            return Err(limit(format!("the text is longer than {OUTPUT_LIMIT} bytes")));
        }
        self.spend(text.len() as u64 / BYTES_PER_STEP)?;
        self.out.push_str(text);
        Ok(())
    }

    fn print(&mut self, value: &Value) -> Outcome<()> {
        if let Value::Str(text) = value {
            return self.write(&text.text);
        }
        self.spend(value.weight())?;
        let mut text = String::new();
        write_text(&mut text, value)?;
        self.write(&text)
    }

    /// The text that statements print.
    pub fn captured(&mut self, body: &[Statement], scope: &Rc<Scope>) -> Outcome<String> {
        let outer = std::mem::take(&mut self.out);
        let result = self.run(body, scope);
        let text = std::mem::replace(&mut self.out, outer);
        result?;
        self.produced += text.len() as u64;
        Ok(text)
    }

    pub fn run(&mut self, body: &[Statement], scope: &Rc<Scope>) -> Outcome<Flow> {
        self.enter()?;
        for statement in body {
            self.line = statement.line;
            let flow = self.statement(&statement.kind, scope)?;
            if flow != Flow::Next {
                self.leave();
                return Ok(flow);
            }
        }
        self.leave();
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &StatementKind, scope: &Rc<Scope>) -> Outcome<Flow> {
        self.spend(1)?;
        match statement {
            StatementKind::Data(text) => self.write(text)?,
            StatementKind::Print(expression) => {
                let value = self.evaluate(expression, scope)?;
                self.print(&value)?;
            }
            StatementKind::For(node) => {
                let iterable = self.evaluate(&node.iterable, scope)?;
                return self.for_loop(node, iterable, scope, 0);
            }
            StatementKind::If(branches, otherwise) => {
                for (test, body) in branches {
                    if self.evaluate(test, scope)?.truth() {
                        return self.run(body, scope);
                    }
                }
                return self.run(otherwise, scope);
            }
            StatementKind::Set(target, expression) => {
                let value = self.evaluate(expression, scope)?;
                self.assign(target, value, scope)?;
            }
            StatementKind::SetBlock(target, filter, body) => {
                let text = self.captured(body, &Scope::inside(scope))?;
                let mut value = Value::string(text);
                if let Some(filter) = filter {
                    value = self.filter_block(filter, value, scope)?;
                }
                self.assign(target, value, scope)?;
            }
            StatementKind::Macro(node) => {
                self.spend(KEPT_COST)?;
                self.cyclic_scopes.push(scope.clone());
                let value = self.closure(node, scope);
                if let Some(name) = &node.name {
                    scope.set(name.clone(), value);
                }
            }
            StatementKind::CallBlock(node, call) => {
                let caller = self.closure(node, scope);
                let value = self.call_with_caller(call, caller, scope)?;
                self.print(&value)?;
            }
            StatementKind::FilterBlock(filter, body) => {
                let text = self.captured(body, &Scope::inside(scope))?;
                let value = self.filter_block(filter, Value::string(text), scope)?;
                self.print(&value)?;
            }
            StatementKind::With(bindings, body) => {
                let inner = Scope::inside(scope);
                for (target, expression) in bindings {
                    let value = self.evaluate(expression, scope)?;
                    self.assign(target, value, &inner)?;
                }
                return self.run(body, &inner);
            }
            StatementKind::Scoped(body) => return self.run(body, &Scope::inside(scope)),
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
            StatementKind::Unloadable(message) => return Err(runtime(*message)),
        }
        Ok(Flow::Next)
    }

    fn closure(&self, node: &Arc<MacroNode>, scope: &Rc<Scope>) -> Value {
        Value::Macro(Rc::new(Macro { node: node.clone(), scope: scope.clone() }))
    }

    pub fn assign(&mut self, target: &Target, value: Value, scope: &Rc<Scope>) -> Outcome<()> {
        match target {
            Target::Name(name) => {
                scope.set(name.clone(), value);
                Ok(())
            }
            Target::NamespaceAttribute(name, attribute) => match scope.get(name) {
                Some(Value::Namespace(namespace)) => {
                    namespace.borrow_mut().insert(Value::text(attribute), value);
                    Ok(())
                }
                _ => Err(runtime("cannot assign attribute on non-namespace object")),
            },
            Target::Tuple(targets) => {
                let values = match &value {
                    Value::Str(_) | Value::Undefined(_) => value.iterate()?,
                    _ if value.iterable() => value.iterate()?,
                    _ => {
                        return Err(type_error(format!(
                            "cannot unpack non-iterable {} object",
                            value.type_name()
                        )))
                    }
                };
                let (wanted, found) = (targets.len(), values.len());
                if found < wanted {
                    return Err(runtime(format!(
                        "not enough values to unpack (expected {wanted}, got {found})"
                    )));
                }
                if found > wanted {
                    return Err(runtime(format!("too many values to unpack (expected {wanted})")));
                }
                for (target, value) in targets.iter().zip(values) {
                    self.assign(target, value, scope)?;
                }
                Ok(())
            }
        }
    }

    pub fn for_loop(
        &mut self,
        node: &Arc<ForNode>,
        iterable: Value,
        scope: &Rc<Scope>,
        depth0: usize,
    ) -> Outcome<Flow> {
        let mut items = iterable.iterate()?;
        self.spend(items.len() as u64)?;
        if let Some(filter) = &node.filter {
            let mut kept = Vec::new();
            for item in items {
                let inner = Scope::inside(scope);
                self.assign(&node.target, item.clone(), &inner)?;
                if self.evaluate(filter, &inner)?.truth() {
                    kept.push(item);
                }
            }
            items = kept;
        }
        if items.is_empty() {
            self.run(&node.otherwise, &Scope::inside(scope))?;
            return Ok(Flow::Next);
        }
        let state = Rc::new(LoopState {
            items: Value::items(items)?,
            index0: Cell::new(0),
            depth0,
            last_changed: RefCell::new(None),
            recursive: node.recursive.then(|| (node.clone(), scope.clone())),
        });
        for (index, item) in state.items.items.iter().enumerate() {
            state.index0.set(index);
            let inner = Scope::inside(scope);
            inner.set(Arc::from("loop"), Value::Loop(state.clone()));
            self.assign(&node.target, item.clone(), &inner)?;
            if self.run(&node.body, &inner)? == Flow::Break {
                break;
            }
        }
        Ok(Flow::Next)
    }

    pub fn call_macro(&mut self, called: &Macro, arguments: Arguments) -> Outcome<Value> {
        let node = &called.node;
        let name = node.name.as_deref().unwrap_or("caller");
        let scope = Scope::inside(&called.scope);
        let Arguments { positional, mut named } = arguments;
        let mut positional = positional.into_iter();
        let mut take = |wanted: &str| {
            let position = named.iter().position(|(name, _)| &**name == wanted)?;
            Some(named.remove(position).1)
        };
        for (parameter, default) in &node.parameters {
            let value = match positional.next() {
                Some(value) => value,
                None => match (take(parameter), default) {
                    (Some(value), _) => value,
                    (None, Some(default)) => self.evaluate(default, &scope)?,
                    (None, None) => {
                        Value::undefined(format!("parameter '{parameter}' was not provided"))
                    }
                },
            };
            scope.set(parameter.clone(), value);
        }
        if node.uses_caller {
            let caller = take("caller");
            let caller = caller.unwrap_or_else(|| Value::undefined("No caller defined"));
            scope.set(Arc::from("caller"), caller);
        }
        if node.uses_kwargs {
            let mut rest = Dict::default();
            for (name, value) in named {
                rest.insert(Value::text(&name), value);
            }
            scope.set(Arc::from("kwargs"), Value::dict(rest)?);
        } else if let Some((unknown, _)) = named.first() {
            return Err(type_error(format!(
                "macro '{name}' takes no keyword argument '{unknown}'"
            )));
        }
        let rest: Vec<Value> = positional.collect();
        if node.uses_varargs {
            scope.set(Arc::from("varargs"), Value::tuple(rest)?);
        } else if !rest.is_empty() {
            let most = node.parameters.len();
            return Err(type_error(format!(
                "macro '{name}' takes not more than {most} argument(s)"
            )));
        }
        Ok(Value::string(self.captured(&node.body, &scope)?))
    }

    /// Applies the filters of a filter or set block, which have no operand of their own.
    fn filter_block(&mut self, filter: &Expr, operand: Value, scope: &Rc<Scope>) -> Outcome<Value> {
        let Expr::Filter(inner, name, arguments) = filter else {
            return Ok(operand);
        };
        let operand = match inner {
            Some(inner) => self.filter_block(inner, operand, scope)?,
            None => operand,
        };
        self.apply_filter(name, operand, arguments, scope)
    }
}
