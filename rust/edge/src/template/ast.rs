//! The syntax tree of a template. It is immutable and shared between threads.

use std::sync::Arc;

pub enum Literal {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Arc<str>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn,
}

#[derive(Default)]
pub struct CallArguments {
    pub positional: Vec<Expr>,
    pub named: Vec<(Arc<str>, Expr)>,
    pub star: Option<Box<Expr>>,
    pub double_star: Option<Box<Expr>>,
}

pub enum Expr {
    Literal(Literal),
    Name(Arc<str>),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Negative(Box<Expr>),
    Positive(Box<Expr>),
    Not(Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Concat(Vec<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Compare(Box<Expr>, Vec<(Comparison, Expr)>),
    Conditional {
        test: Box<Expr>,
        then: Box<Expr>,
        otherwise: Option<Box<Expr>>,
    },
    Attribute(Box<Expr>, Arc<str>),
    Item(Box<Expr>, Box<Expr>),
    Slice(Box<[Option<Expr>; 3]>),
    Call(Box<Expr>, CallArguments),
    /// A filter of a filter block has no operand: the block's text is it.
    Filter(Option<Box<Expr>>, Arc<str>, CallArguments),
    Test(Box<Expr>, Arc<str>, CallArguments),
}

pub enum Target {
    Name(Arc<str>),
    NamespaceAttribute(Arc<str>, Arc<str>),
    Tuple(Vec<Target>),
}

pub struct MacroNode {
    pub name: Option<Arc<str>>,
    pub parameters: Vec<(Arc<str>, Option<Expr>)>,
    pub body: Vec<Statement>,
    pub uses_caller: bool,
    pub uses_varargs: bool,
    pub uses_kwargs: bool,
}

pub struct ForNode {
    pub target: Target,
    pub iterable: Expr,
    pub filter: Option<Expr>,
    pub body: Vec<Statement>,
    pub otherwise: Vec<Statement>,
    pub recursive: bool,
}

pub struct Statement {
    pub line: u32,
    pub kind: StatementKind,
}

pub enum StatementKind {
    Data(Arc<str>),
    Print(Expr),
    For(Arc<ForNode>),
    If(Vec<(Expr, Vec<Statement>)>, Vec<Statement>),
    Set(Target, Expr),
    SetBlock(Target, Option<Expr>, Vec<Statement>),
    Macro(Arc<MacroNode>),
    CallBlock(Arc<MacroNode>, Expr),
    FilterBlock(Expr, Vec<Statement>),
    With(Vec<(Target, Expr)>, Vec<Statement>),
    /// A named block, or transformers' generation block: its names stay inside.
    Scoped(Vec<Statement>),
    Break,
    Continue,
    /// Parses, and fails when it is reached.
    Unloadable(&'static str),
}
