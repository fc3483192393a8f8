//! Statements of a template; parser_expression.rs has the expressions.

use std::collections::HashSet;
use std::sync::Arc;

use super::ast::{Expr, ForNode, MacroNode, Statement, StatementKind, Target};
use super::error::{error, Error, Kind, Outcome};
use super::lexer::{tokenize, Lexed, Token};

/// Blocks and parentheses inside each other; parser and renderer recurse that deep.
pub const SYNTAX_DEPTH_LIMIT: u32 = 200;

pub struct Parser {
    tokens: Vec<Lexed>,
    position: usize,
    pub depth: u32,
    /// Inside of how many loops of the innermost function: break and continue need one.
    loops: u32,
    /// Inside a branch, where an unknown filter or test fails only when it is reached.
    pub soft: bool,
    /// Names that the innermost macro reads; at the end those of the template.
    macro_names: HashSet<Arc<str>>,
}

pub struct Parsed {
    pub body: Vec<Statement>,
    /// Every name that an expression reads.
    pub names: HashSet<Arc<str>>,
}

pub fn parse(source: &str) -> Outcome<Parsed> {
    let mut parser = Parser {
        tokens: tokenize(source)?,
        position: 0,
        depth: 0,
        loops: 0,
        soft: false,
        macro_names: HashSet::new(),
    };
    let (body, _) = parser.body(&[])?;
    Ok(Parsed { body, names: parser.macro_names })
}

impl Parser {
    pub fn peek(&self) -> &Token {
        &self.tokens[self.position].token
    }

    pub fn peek_after(&self) -> &Token {
        &self.tokens[(self.position + 1).min(self.tokens.len() - 1)].token
    }

    pub fn line(&self) -> u32 {
        self.tokens[self.position].line
    }

    pub fn next(&mut self) -> Token {
        let token = self.tokens[self.position].token.clone();
        if self.position + 1 < self.tokens.len() {
            self.position += 1;
        }
        token
    }

    pub fn fail(&self, message: impl Into<String>) -> Error {
        Error { line: self.line(), ..error(Kind::Syntax, message) }
    }

    pub fn unexpected(&self, wanted: &str) -> Error {
        let found = match self.peek() {
            Token::Data(_) | Token::End => "end of template".to_string(),
            Token::VariableBegin => "begin of print statement".to_string(),
            Token::VariableEnd => "end of print statement".to_string(),
            Token::BlockBegin => "begin of statement block".to_string(),
            Token::BlockEnd => "end of statement block".to_string(),
            Token::Name(name) => format!("'{name}'"),
            Token::Str(_) => "string".to_string(),
            Token::Int(value) => value.to_string(),
            Token::Float(value) => value.to_string(),
            Token::Operator(operator) => format!("'{operator}'"),
        };
        self.fail(format!("expected {wanted}, got {found}"))
    }

    pub fn is_operator(&self, operator: &str) -> bool {
        matches!(self.peek(), Token::Operator(found) if *found == operator)
    }

    pub fn skip_operator(&mut self, operator: &str) -> bool {
        let found = self.is_operator(operator);
        if found {
            self.next();
        }
        found
    }

    pub fn expect_operator(&mut self, operator: &str) -> Outcome<()> {
        if self.skip_operator(operator) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("token '{operator}'")))
        }
    }

    pub fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Token::Name(found) if &**found == name)
    }

    pub fn skip_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        if found {
            self.next();
        }
        found
    }

    pub fn expect_name(&mut self) -> Outcome<Arc<str>> {
        match self.peek() {
            Token::Name(_) => match self.next() {
                Token::Name(name) => Ok(name),
                _ => Err(self.unexpected("a name")),
            },
            _ => Err(self.unexpected("token 'name'")),
        }
    }

    pub fn note_name(&mut self, name: &Arc<str>) {
        self.macro_names.insert(name.clone());
    }

    pub fn deeper(&mut self) -> Outcome<()> {
        self.depth += 1;
        if self.depth > SYNTAX_DEPTH_LIMIT {
            return Err(self.fail(format!("syntax nests deeper than {SYNTAX_DEPTH_LIMIT}")));
        }
        Ok(())
    }

    fn expect_block_end(&mut self) -> Outcome<()> {
        if *self.peek() != Token::BlockEnd {
            return Err(self.unexpected("token 'end of statement block'"));
        }
        self.next();
        Ok(())
    }

    /// Statements up to one of the end words, whose name token is consumed and returned.
    fn body(&mut self, ends: &[&str]) -> Outcome<(Vec<Statement>, String)> {
        self.deeper()?;
        let mut statements = Vec::new();
        loop {
            let line = self.line();
            match self.peek().clone() {
                Token::Data(text) => {
                    self.next();
                    statements.push(Statement { line, kind: StatementKind::Data(text) });
                }
                Token::VariableBegin => {
                    self.next();
                    let value = self.tuple(true, false, &[])?;
                    if *self.peek() != Token::VariableEnd {
                        return Err(self.unexpected("token 'end of print statement'"));
                    }
                    self.next();
                    statements.push(Statement { line, kind: StatementKind::Print(value) });
                }
                Token::BlockBegin => {
                    self.next();
                    if let Token::Name(name) = self.peek().clone() {
                        if ends.contains(&&*name) {
                            self.next();
                            self.depth -= 1;
                            return Ok((statements, name.to_string()));
                        }
                    }
                    self.statement(&mut statements)?;
                    self.expect_block_end()?;
                }
                _ if ends.is_empty() => {
                    self.depth -= 1;
                    return Ok((statements, String::new()));
                }
                _ => {
                    let wanted = ends.join("' or '");
                    return Err(
                        self.fail(format!("Unexpected end of template, '{wanted}' missing"))
                    );
                }
            }
        }
    }

    /// The body of a block whose begin tag is parsed up to its end.
    fn block_body(&mut self, ends: &[&str]) -> Outcome<(Vec<Statement>, String)> {
        self.skip_operator(":");
        self.expect_block_end()?;
        self.body(ends)
    }

    fn statement(&mut self, statements: &mut Vec<Statement>) -> Outcome<()> {
        let line = self.line();
        let Token::Name(tag) = self.peek().clone() else {
            return Err(self.unexpected("tag name"));
        };
        self.next();
        let kind = match &*tag {
            "for" => self.for_loop()?,
            "if" => self.if_chain()?,
            "set" => self.set()?,
            "macro" => self.macro_definition()?,
            "call" => self.call_block()?,
            "filter" => {
                let filter = self.filter_chain(None, true)?;
                let (body, _) = self.block_body(&["endfilter"])?;
                StatementKind::FilterBlock(filter, body)
            }
            "with" => self.with()?,
            "generation" => {
                let loops = std::mem::take(&mut self.loops);
                let (body, _) = self.block_body(&["endgeneration"])?;
                self.loops = loops;
                StatementKind::Scoped(body)
            }
            "block" => self.named_block()?,
            "break" | "continue" => {
                if self.loops == 0 {
                    return Err(self.fail(format!("'{tag}' outside loop")));
                }
                if &*tag == "break" {
                    StatementKind::Break
                } else {
                    StatementKind::Continue
                }
            }
            "print" => {
                while *self.peek() != Token::BlockEnd {
                    let value = self.expression()?;
                    statements.push(Statement { line, kind: StatementKind::Print(value) });
                    if *self.peek() != Token::BlockEnd {
                        self.expect_operator(",")?;
                    }
                }
                return Ok(());
            }
            "include" | "import" | "from" | "extends" => {
                while !matches!(self.peek(), Token::BlockEnd | Token::End) {
                    self.next();
                }
                StatementKind::Unloadable("no loader for this environment specified")
            }
            _ => return Err(self.fail(format!("Encountered unknown tag '{tag}'."))),
        };
        statements.push(Statement { line, kind });
        Ok(())
    }

    fn for_loop(&mut self) -> Outcome<StatementKind> {
        let target = self.target(true, false, &["in"])?;
        if !self.skip_name("in") {
            return Err(self.unexpected("token 'in'"));
        }
        let iterable = self.tuple(false, false, &["recursive"])?;
        let filter = if self.skip_name("if") { Some(self.expression()?) } else { None };
        let recursive = self.skip_name("recursive");
        let soft = std::mem::take(&mut self.soft);
        self.loops += 1;
        let (body, end) = self.block_body(&["endfor", "else"])?;
        self.loops -= 1;
        let otherwise = match &*end {
            "else" => self.block_body(&["endfor"])?.0,
            _ => Vec::new(),
        };
        self.soft = soft;
        let node = ForNode { target, iterable, filter, body, otherwise, recursive };
        Ok(StatementKind::For(Arc::new(node)))
    }

    fn if_chain(&mut self) -> Outcome<StatementKind> {
        let mut branches = Vec::new();
        let soft = self.soft;
        loop {
            let test = self.tuple(false, false, &[])?;
            self.soft = true;
            let (body, end) = self.block_body(&["elif", "else", "endif"])?;
            branches.push((test, body));
            let otherwise = match &*end {
                "elif" => {
                    self.soft = soft;
                    continue;
                }
                "else" => self.block_body(&["endif"])?.0,
                _ => Vec::new(),
            };
            self.soft = soft;
            return Ok(StatementKind::If(branches, otherwise));
        }
    }

    fn set(&mut self) -> Outcome<StatementKind> {
        let target = self.target(true, true, &[])?;
        if self.skip_operator("=") {
            let value = self.tuple(true, false, &[])?;
            return Ok(StatementKind::Set(target, value));
        }
        let filter =
            if self.is_operator("|") { Some(self.filter_chain(None, false)?) } else { None };
        let (body, _) = self.block_body(&["endset"])?;
        Ok(StatementKind::SetBlock(target, filter, body))
    }

    fn with(&mut self) -> Outcome<StatementKind> {
        let mut bindings = Vec::new();
        while *self.peek() != Token::BlockEnd {
            if !bindings.is_empty() {
                self.expect_operator(",")?;
            }
            let target = self.target(false, false, &[])?;
            self.expect_operator("=")?;
            bindings.push((target, self.expression()?));
        }
        let (body, _) = self.block_body(&["endwith"])?;
        Ok(StatementKind::With(bindings, body))
    }

    fn named_block(&mut self) -> Outcome<StatementKind> {
        let name = self.expect_name()?;
        while self.is_name("scoped") || self.is_name("required") {
            self.next();
        }
        let loops = std::mem::take(&mut self.loops);
        let (body, _) = self.block_body(&["endblock"])?;
        self.loops = loops;
        self.skip_name(&name);
        Ok(StatementKind::Scoped(body))
    }

    fn macro_definition(&mut self) -> Outcome<StatementKind> {
        let name = self.assignable_name()?;
        let parameters = self.parameters()?;
        let node = self.macro_node(Some(name), parameters, "endmacro")?;
        Ok(StatementKind::Macro(Arc::new(node)))
    }

    fn call_block(&mut self) -> Outcome<StatementKind> {
        let parameters = if self.is_operator("(") { self.parameters()? } else { Vec::new() };
        let call = self.expression()?;
        if !matches!(call, Expr::Call(..)) {
            return Err(self.fail("expected call"));
        }
        let node = self.macro_node(None, parameters, "endcall")?;
        Ok(StatementKind::CallBlock(Arc::new(node), call))
    }

    fn macro_node(
        &mut self,
        name: Option<Arc<str>>,
        parameters: Vec<(Arc<str>, Option<Expr>)>,
        end: &str,
    ) -> Outcome<MacroNode> {
        let loops = std::mem::take(&mut self.loops);
        let soft = std::mem::take(&mut self.soft);
        let outer_names = std::mem::take(&mut self.macro_names);
        let (body, _) = self.block_body(&[end])?;
        let names = std::mem::replace(&mut self.macro_names, outer_names);
        for name in &names {
            self.note_name(name);
        }
        self.loops = loops;
        self.soft = soft;
        let free = |wanted: &str| {
            names.contains(wanted) && !parameters.iter().any(|(name, _)| &**name == wanted)
        };
        Ok(MacroNode {
            uses_caller: free("caller"),
            uses_varargs: free("varargs"),
            uses_kwargs: free("kwargs"),
            name,
            parameters,
            body,
        })
    }

    fn parameters(&mut self) -> Outcome<Vec<(Arc<str>, Option<Expr>)>> {
        let mut parameters: Vec<(Arc<str>, Option<Expr>)> = Vec::new();
        self.expect_operator("(")?;
        while !self.is_operator(")") {
            if !parameters.is_empty() {
                self.expect_operator(",")?;
            }
            let name = self.assignable_name()?;
            let default = if self.skip_operator("=") {
                Some(self.expression()?)
            } else {
                if parameters.last().is_some_and(|(_, default)| default.is_some()) {
                    return Err(self.fail("non-default argument follows default argument"));
                }
                None
            };
            parameters.push((name, default));
        }
        self.expect_operator(")")?;
        Ok(parameters)
    }

    fn assignable_name(&mut self) -> Outcome<Arc<str>> {
        let name = self.expect_name()?;
        if matches!(&*name, "true" | "false" | "none" | "True" | "False" | "None") {
            return Err(self.fail(format!("can't assign to '{name}'")));
        }
        Ok(name)
    }

    /// What a set, for or with assigns to.
    fn target(&mut self, with_tuple: bool, namespaces: bool, ends: &[&str]) -> Outcome<Target> {
        let mut targets = Vec::new();
        let mut is_tuple = false;
        loop {
            if is_tuple && self.at_target_end(ends) {
                break;
            }
            targets.push(self.single_target(namespaces)?);
            if !with_tuple || !self.skip_operator(",") {
                break;
            }
            is_tuple = true;
        }
        match targets.pop() {
            Some(target) if !is_tuple => Ok(target),
            Some(target) => {
                targets.push(target);
                Ok(Target::Tuple(targets))
            }
            None => Err(self.unexpected("a name to assign to")),
        }
    }

    fn at_target_end(&self, ends: &[&str]) -> bool {
        matches!(self.peek(), Token::BlockEnd)
            || self.is_operator(")")
            || self.is_operator("=")
            || ends.iter().any(|end| self.is_name(end))
    }

    fn single_target(&mut self, namespaces: bool) -> Outcome<Target> {
        if self.skip_operator("(") {
            self.deeper()?;
            let target = self.target(true, namespaces, &[])?;
            self.depth -= 1;
            self.expect_operator(")")?;
            return Ok(target);
        }
        let name = self.assignable_name()?;
        if namespaces && self.skip_operator(".") {
            let attribute = self.expect_name()?;
            self.note_name(&name);
            return Ok(Target::NamespaceAttribute(name, attribute));
        }
        Ok(Target::Name(name))
    }
}
