//! Values of a template with the behaviour of the Python objects that they stand for.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::ast::MacroNode;
pub use super::dict::Dict;
use super::error::{limit, type_error, Outcome};
use super::scope::Scope;

/// Containers inside containers; freeing and printing a value recurse that deep.
pub const NESTING_LIMIT: u32 = 500;

/// A string, and whether it is markupsafe's Markup (the result of `safe` and `escape`).
#[derive(Clone)]
pub struct Text {
    pub text: Arc<str>,
    pub markup: bool,
}

/// jinja2's default Undefined: prints nothing, is false and empty, and refuses the rest.
pub struct Undefined {
    pub message: String,
}

pub struct Items {
    pub items: Vec<Value>,
    pub depth: u32,
    /// As Value::weight.
    pub weight: u64,
    /// The named tuple (grouper, list) of the filter groupby.
    pub group: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ViewKind {
    Keys,
    Values,
    Items,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub start: i128,
    pub stop: i128,
    pub step: i128,
}

impl Range {
    pub fn len(&self) -> usize {
        let span = if self.step > 0 { self.stop - self.start } else { self.start - self.stop };
        let step = self.step.abs();
        if span <= 0 {
            0
        } else {
            usize::try_from((span + step - 1) / step).unwrap_or(usize::MAX)
        }
    }

    pub fn at(&self, index: usize) -> i128 {
        self.start + self.step * index as i128
    }
}

/// A Python iterator: it can be consumed once, and an error of its source appears only then.
pub struct Generator {
    pub rest: RefCell<Option<Outcome<Vec<Value>>>>,
    pub depth: u32,
    pub reversible: bool,
}

pub struct Macro {
    pub node: Arc<MacroNode>,
    pub scope: Rc<Scope>,
}

pub struct LoopState {
    pub items: Rc<Items>,
    pub index0: Cell<usize>,
    pub depth0: usize,
    pub last_changed: RefCell<Option<Vec<Value>>>,
    pub recursive: Option<(Arc<super::ast::ForNode>, Rc<Scope>)>,
}

pub struct Method {
    pub receiver: Value,
    pub name: Arc<str>,
}

pub struct Cycler {
    pub items: Rc<Items>,
    pub position: Cell<usize>,
}

pub struct Joiner {
    pub separator: Value,
    pub used: Cell<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Range,
    Dict,
    Namespace,
    Cycler,
    Joiner,
    RaiseException,
    StrftimeNow,
}

#[derive(Clone)]
pub enum Value {
    Undefined(Rc<Undefined>),
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Text),
    List(Rc<Items>),
    Tuple(Rc<Items>),
    Dict(Rc<Dict>),
    View(ViewKind, Rc<Items>),
    Range(Range),
    Generator(Rc<Generator>),
    Namespace(Rc<RefCell<Dict>>),
    Macro(Rc<Macro>),
    Loop(Rc<LoopState>),
    Method(Rc<Method>),
    Cycler(Rc<Cycler>),
    Joiner(Rc<Joiner>),
    Function(Function),
}

#[derive(Clone, Copy)]
pub enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    pub fn float(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    pub fn equals(self, other: Number) -> bool {
        self.compare(other) == Some(std::cmp::Ordering::Equal)
    }

    /// Exact, as Python compares an int with a float.
    pub fn compare(self, other: Number) -> Option<std::cmp::Ordering> {
        use std::cmp::Ordering;
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
            (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
            (Number::Float(_), Number::Int(_)) => other.compare(self).map(Ordering::reverse),
            (Number::Int(a), Number::Float(b)) => {
                if b.is_nan() {
                    None
                } else if b >= 1.7e38 {
                    Some(Ordering::Less)
                } else if b <= -1.7e38 {
                    Some(Ordering::Greater)
                } else {
                    let whole = b.trunc();
                    Some(a.cmp(&(whole as i128)).then(0.0_f64.total_cmp(&(b - whole + 0.0))))
                }
            }
        }
    }
}

impl Value {
    pub fn text(text: &str) -> Value {
        Value::Str(Text { text: Arc::from(text), markup: false })
    }

    pub fn string(text: String) -> Value {
        Value::Str(Text { text: Arc::from(text), markup: false })
    }

    pub fn marked(text: String, markup: bool) -> Value {
        Value::Str(Text { text: Arc::from(text), markup })
    }

    pub fn undefined(message: impl Into<String>) -> Value {
        Value::Undefined(Rc::new(Undefined { message: message.into() }))
    }

    pub fn items(items: Vec<Value>) -> Outcome<Rc<Items>> {
        let depth = 1 + items.iter().map(Value::depth).max().unwrap_or(0);
        if depth > NESTING_LIMIT {
            return Err(limit(format!("values nest deeper than {NESTING_LIMIT}")));
        }
        let weight = items.iter().map(Value::weight).fold(1, u64::saturating_add);
        Ok(Rc::new(Items { items, depth, weight, group: false }))
    }

    pub fn list(items: Vec<Value>) -> Outcome<Value> {
        Ok(Value::List(Value::items(items)?))
    }

    pub fn tuple(items: Vec<Value>) -> Outcome<Value> {
        Ok(Value::Tuple(Value::items(items)?))
    }

    pub fn dict(dict: Dict) -> Outcome<Value> {
        if dict.depth() > NESTING_LIMIT {
            return Err(limit(format!("values nest deeper than {NESTING_LIMIT}")));
        }
        Ok(Value::Dict(Rc::new(dict)))
    }

    pub fn generator(source: Outcome<Vec<Value>>, reversible: bool) -> Value {
        let depth = match &source {
            Ok(items) => 1 + items.iter().map(Value::depth).max().unwrap_or(0),
            Err(_) => 1,
        };
        let source = if depth > NESTING_LIMIT {
            Err(limit(format!("values nest deeper than {NESTING_LIMIT}")))
        } else {
            source
        };
        Value::Generator(Rc::new(Generator { rest: RefCell::new(Some(source)), depth, reversible }))
    }

    pub fn depth(&self) -> u32 {
        match self {
            Value::List(items) | Value::Tuple(items) | Value::View(_, items) => items.depth,
            Value::Dict(dict) => dict.depth(),
            Value::Generator(generator) => generator.depth,
            Value::Loop(state) => 1 + state.items.depth,
            Value::Method(method) => 1 + method.receiver.depth(),
            Value::Cycler(cycler) => 1 + cycler.items.depth,
            Value::Joiner(joiner) => 1 + joiner.separator.depth(),
            _ => 0,
        }
    }

    /// Parts that a walk over the value visits, each shared part as often as it occurs; a step for
    /// every 64 bytes of text.
    pub fn weight(&self) -> u64 {
        match self {
            Value::Str(text) => 1 + text.text.len() as u64 / 64,
            Value::List(items) | Value::Tuple(items) | Value::View(_, items) => items.weight,
            Value::Dict(dict) => dict.weight(),
            Value::Range(range) => range.len() as u64,
            Value::Namespace(names) => names.try_borrow().map_or(1, |names| names.weight()),
            Value::Generator(generator) => match generator.rest.try_borrow().as_deref() {
                Ok(Some(Ok(items))) => items.iter().map(Value::weight).fold(1, u64::saturating_add),
                _ => 1,
            },
            _ => 1,
        }
    }

    /// Items of a container, blocks of 64 bytes of a string.
    pub fn items_or_blocks(&self) -> u64 {
        match self {
            Value::Str(_) => self.weight(),
            Value::Generator(generator) => match generator.rest.try_borrow().as_deref() {
                Ok(Some(Ok(items))) => items.len() as u64,
                _ => 1,
            },
            _ => self.length().unwrap_or(1) as u64,
        }
    }

    pub fn number(&self) -> Option<Number> {
        match self {
            Value::Bool(value) => Some(Number::Int(i128::from(*value))),
            Value::Int(value) => Some(Number::Int(*value)),
            Value::Float(value) => Some(Number::Float(*value)),
            _ => None,
        }
    }

    pub fn integer(&self) -> Option<i128> {
        match self.number() {
            Some(Number::Int(value)) => Some(value),
            _ => None,
        }
    }

    pub fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined(_))
    }

    pub fn truth(&self) -> bool {
        match self {
            Value::Undefined(_) | Value::None => false,
            Value::Bool(value) => *value,
            Value::Int(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Str(text) => !text.text.is_empty(),
            Value::List(items) | Value::Tuple(items) | Value::View(_, items) => {
                !items.items.is_empty()
            }
            Value::Dict(dict) => dict.len() > 0,
            Value::Range(range) => range.len() > 0,
            Value::Loop(state) => !state.items.items.is_empty(),
            _ => true,
        }
    }

    /// The name of the Python type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined(_) => "Undefined",
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Str(text) if text.markup => "Markup",
            Value::Str(_) => "str",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Dict(_) => "dict",
            Value::View(ViewKind::Keys, _) => "dict_keys",
            Value::View(ViewKind::Values, _) => "dict_values",
            Value::View(ViewKind::Items, _) => "dict_items",
            Value::Range(_) => "range",
            Value::Generator(_) => "generator",
            Value::Namespace(_) => "Namespace",
            Value::Macro(_) => "Macro",
            Value::Loop(_) => "LoopContext",
            Value::Method(_) => "builtin_function_or_method",
            Value::Cycler(_) => "Cycler",
            Value::Joiner(_) => "Joiner",
            Value::Function(_) => "function",
        }
    }

    /// jinja2's object_type_repr, as in "'dict object' has no attribute 'x'".
    pub fn described(&self) -> String {
        match self {
            Value::None => "None".to_string(),
            Value::Namespace(_) => "jinja2.utils.Namespace object".to_string(),
            _ => format!("{} object", self.type_name()),
        }
    }

    /// len(): nothing for values without a length.
    pub fn length(&self) -> Option<usize> {
        match self {
            Value::Undefined(_) => Some(0),
            Value::Str(text) => Some(text.text.chars().count()),
            Value::List(items) | Value::Tuple(items) | Value::View(_, items) => {
                Some(items.items.len())
            }
            Value::Dict(dict) => Some(dict.len()),
            Value::Range(range) => Some(range.len()),
            Value::Loop(state) => Some(state.items.items.len()),
            _ => None,
        }
    }

    /// The items of an iteration; consumes a generator.
    pub fn iterate(&self) -> Outcome<Vec<Value>> {
        match self {
            Value::Undefined(_) => Ok(Vec::new()),
            Value::Str(text) => {
                let mut buffer = [0u8; 4];
                Ok(text.text.chars().map(|c| Value::text(c.encode_utf8(&mut buffer))).collect())
            }
            Value::List(items) | Value::Tuple(items) | Value::View(_, items) => {
                Ok(items.items.clone())
            }
            Value::Dict(dict) => Ok(dict.entries.iter().map(|(key, _)| key.clone()).collect()),
            Value::Range(range) => Ok((0..range.len()).map(|i| Value::Int(range.at(i))).collect()),
            Value::Generator(generator) => {
                generator.rest.borrow_mut().replace(Ok(Vec::new())).unwrap_or(Ok(Vec::new()))
            }
            _ => Err(type_error(format!("'{}' object is not iterable", self.type_name()))),
        }
    }

    pub fn iterable(&self) -> bool {
        matches!(
            self,
            Value::Undefined(_)
                | Value::Str(_)
                | Value::List(_)
                | Value::Tuple(_)
                | Value::View(..)
                | Value::Dict(_)
                | Value::Range(_)
                | Value::Generator(_)
                | Value::Loop(_)
        )
    }

    /// Refuses what Python cannot hash.
    pub fn check_key(&self) -> Outcome<()> {
        match self {
            Value::List(_) | Value::Dict(_) | Value::View(..) => {
                Err(type_error(format!("unhashable type: '{}'", self.type_name())))
            }
            Value::Tuple(items) => items.items.iter().try_for_each(Value::check_key),
            _ => Ok(()),
        }
    }
}
