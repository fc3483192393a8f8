//! Names that are visible at a place of a template.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::value::Value;

/// One frame of names; a lookup goes on in the frame around it.
pub struct Scope {
    names: RefCell<HashMap<Arc<str>, Value>>,
    parent: Option<Rc<Scope>>,
}

impl Scope {
    pub fn root() -> Rc<Scope> {
        Rc::new(Scope { names: RefCell::default(), parent: None })
    }

    pub fn inside(parent: &Rc<Scope>) -> Rc<Scope> {
        Rc::new(Scope { names: RefCell::default(), parent: Some(parent.clone()) })
    }

    pub fn get(&self, name: &str) -> Option<Value> {
        let mut scope = self;
        loop {
            if let Some(value) = scope.names.borrow().get(name) {
                return Some(value.clone());
            }
            scope = scope.parent.as_deref()?;
        }
    }

    pub fn set(&self, name: Arc<str>, value: Value) {
        self.names.borrow_mut().insert(name, value);
    }

    /// Breaks the cycle between a macro and the frame that holds it.
    pub fn clear(&self) {
        let names = std::mem::take(&mut *self.names.borrow_mut());
        drop(names);
    }
}
