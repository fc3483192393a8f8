//! Expressions of a template, with jinja2's precedences.

use std::sync::Arc;

use super::ast::{Binary, CallArguments, Comparison, Expr, Literal};
use super::error::Outcome;
use super::filters::is_filter;
use super::lexer::Token;
use super::parser::Parser;
use super::predicates::is_predicate;

impl Parser {
    pub fn expression(&mut self) -> Outcome<Expr> {
        self.deeper()?;
        let expression = self.conditional()?;
        self.depth -= 1;
        Ok(expression)
    }

    fn conditional(&mut self) -> Outcome<Expr> {
        let mut value = self.or()?;
        let depth = self.depth;
        while self.skip_name("if") {
            self.deeper()?;
            let soft = std::mem::replace(&mut self.soft, true);
            let test = self.or()?;
            let otherwise = if self.skip_name("else") {
                let otherwise = self.conditional()?;
                Some(Box::new(otherwise))
            } else {
                None
            };
            self.soft = soft;
            value = Expr::Conditional { test: Box::new(test), then: Box::new(value), otherwise };
        }
        self.depth = depth;
        Ok(value)
    }

    fn or(&mut self) -> Outcome<Expr> {
        let mut left = self.and()?;
        let depth = self.depth;
        while self.skip_name("or") {
            self.deeper()?;
            left = Expr::Or(Box::new(left), Box::new(self.and()?));
        }
        self.depth = depth;
        Ok(left)
    }

    fn and(&mut self) -> Outcome<Expr> {
        let mut left = self.not()?;
        let depth = self.depth;
        while self.skip_name("and") {
            self.deeper()?;
            left = Expr::And(Box::new(left), Box::new(self.not()?));
        }
        self.depth = depth;
        Ok(left)
    }

    fn not(&mut self) -> Outcome<Expr> {
        if self.skip_name("not") {
            self.deeper()?;
            let operand = self.not()?;
            self.depth -= 1;
            return Ok(Expr::Not(Box::new(operand)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Outcome<Expr> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        loop {
            let operator = match self.peek() {
                Token::Operator("==") => Comparison::Eq,
                Token::Operator("!=") => Comparison::Ne,
                Token::Operator("<") => Comparison::Lt,
                Token::Operator("<=") => Comparison::Le,
                Token::Operator(">") => Comparison::Gt,
                Token::Operator(">=") => Comparison::Ge,
                Token::Name(name) if &**name == "in" => Comparison::In,
                Token::Name(name)
                    if &**name == "not"
                        && matches!(self.peek_after(), Token::Name(n) if &**n == "in") =>
                {
                    self.next();
                    Comparison::NotIn
                }
                _ => break,
            };
            self.next();
            rest.push((operator, self.sum()?));
        }
        Ok(if rest.is_empty() { first } else { Expr::Compare(Box::new(first), rest) })
    }

    fn sum(&mut self) -> Outcome<Expr> {
        let mut left = self.concat()?;
        let depth = self.depth;
        loop {
            let operator = match self.peek() {
                Token::Operator("+") => Binary::Add,
                Token::Operator("-") => Binary::Sub,
                _ => {
                    self.depth = depth;
                    return Ok(left);
                }
            };
            self.next();
            self.deeper()?;
            left = Expr::Binary(operator, Box::new(left), Box::new(self.concat()?));
        }
    }

    fn concat(&mut self) -> Outcome<Expr> {
        let first = self.product()?;
        if !self.is_operator("~") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.skip_operator("~") {
            parts.push(self.product()?);
        }
        Ok(Expr::Concat(parts))
    }

    fn product(&mut self) -> Outcome<Expr> {
        let mut left = self.power()?;
        let depth = self.depth;
        loop {
            let operator = match self.peek() {
                Token::Operator("*") => Binary::Mul,
                Token::Operator("/") => Binary::Div,
                Token::Operator("//") => Binary::FloorDiv,
                Token::Operator("%") => Binary::Mod,
                _ => {
                    self.depth = depth;
                    return Ok(left);
                }
            };
            self.next();
            self.deeper()?;
            left = Expr::Binary(operator, Box::new(left), Box::new(self.power()?));
        }
    }

    fn power(&mut self) -> Outcome<Expr> {
        let mut left = self.unary(true)?;
        let depth = self.depth;
        while self.skip_operator("**") {
            self.deeper()?;
            left = Expr::Binary(Binary::Pow, Box::new(left), Box::new(self.unary(true)?));
        }
        self.depth = depth;
        Ok(left)
    }

    fn unary(&mut self, with_filter: bool) -> Outcome<Expr> {
        self.deeper()?;
        let value = if self.skip_operator("-") {
            Expr::Negative(Box::new(self.unary(false)?))
        } else if self.skip_operator("+") {
            Expr::Positive(Box::new(self.unary(false)?))
        } else {
            self.primary()?
        };
        let value = self.postfix(value)?;
        let value = if with_filter { self.filters_and_tests(value)? } else { value };
        self.depth -= 1;
        Ok(value)
    }

    fn primary(&mut self) -> Outcome<Expr> {
        let literal = match self.peek().clone() {
            Token::Name(name) => match &*name {
                "true" | "True" => Literal::Bool(true),
                "false" | "False" => Literal::Bool(false),
                "none" | "None" => Literal::None,
                _ => {
                    self.next();
                    self.note_name(&name);
                    return Ok(Expr::Name(name));
                }
            },
            Token::Str(first) => {
                self.next();
                let mut joined = first.to_string();
                while let Token::Str(more) = self.peek() {
                    joined.push_str(more);
                    self.next();
                }
                return Ok(Expr::Literal(Literal::Str(Arc::from(joined))));
            }
            Token::Int(value) => Literal::Int(value),
            Token::Float(value) => Literal::Float(value),
            Token::Operator("(") => {
                self.next();
                let value = self.tuple(true, true, &[])?;
                self.expect_operator(")")?;
                return Ok(value);
            }
            Token::Operator("[") => return self.list(),
            Token::Operator("{") => return self.dict(),
            _ => return Err(self.unexpected("an expression")),
        };
        self.next();
        Ok(Expr::Literal(literal))
    }

    fn list(&mut self) -> Outcome<Expr> {
        self.expect_operator("[")?;
        let mut items = Vec::new();
        while !self.is_operator("]") {
            if !items.is_empty() {
                self.expect_operator(",")?;
                if self.is_operator("]") {
                    break;
                }
            }
            items.push(self.expression()?);
        }
        self.expect_operator("]")?;
        Ok(Expr::List(items))
    }

    fn dict(&mut self) -> Outcome<Expr> {
        self.expect_operator("{")?;
        let mut items = Vec::new();
        while !self.is_operator("}") {
            if !items.is_empty() {
                self.expect_operator(",")?;
                if self.is_operator("}") {
                    break;
                }
            }
            let key = self.expression()?;
            self.expect_operator(":")?;
            items.push((key, self.expression()?));
        }
        self.expect_operator("}")?;
        Ok(Expr::Dict(items))
    }

    /// An expression, or a tuple when commas follow.
    pub fn tuple(&mut self, conditional: bool, parentheses: bool, ends: &[&str]) -> Outcome<Expr> {
        self.deeper()?;
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            if !items.is_empty() {
                self.expect_operator(",")?;
            }
            let at_end = matches!(self.peek(), Token::VariableEnd | Token::BlockEnd)
                || self.is_operator(")")
                || ends.iter().any(|end| self.is_name(end));
            if at_end {
                break;
            }
            items.push(if conditional { self.conditional()? } else { self.or()? });
            if !self.is_operator(",") {
                break;
            }
            is_tuple = true;
        }
        self.depth -= 1;
        if is_tuple {
            return Ok(Expr::Tuple(items));
        }
        match items.pop() {
            Some(single) => Ok(single),
            None if parentheses => Ok(Expr::Tuple(items)),
            None => Err(self.unexpected("an expression")),
        }
    }

    fn postfix(&mut self, mut value: Expr) -> Outcome<Expr> {
        let mut links = 0;
        loop {
            match self.peek() {
                Token::Operator(".") => {
                    self.next();
                    value = match self.next() {
                        Token::Name(name) => Expr::Attribute(Box::new(value), name),
                        Token::Int(index) => {
                            let index = Expr::Literal(Literal::Int(index));
                            Expr::Item(Box::new(value), Box::new(index))
                        }
                        _ => return Err(self.fail("expected name or number")),
                    };
                }
                Token::Operator("[") => value = self.subscript(value)?,
                Token::Operator("(") => {
                    value = Expr::Call(Box::new(value), self.call_arguments()?);
                }
                _ => {
                    self.depth -= links;
                    return Ok(value);
                }
            }
            links += 1;
            self.deeper()?;
        }
    }

    fn subscript(&mut self, value: Expr) -> Outcome<Expr> {
        self.expect_operator("[")?;
        let mut indexes = Vec::new();
        while !self.is_operator("]") {
            if !indexes.is_empty() {
                self.expect_operator(",")?;
            }
            indexes.push(self.index()?);
        }
        self.expect_operator("]")?;
        let index = match indexes.pop() {
            Some(only) if indexes.is_empty() => only,
            Some(last) => {
                indexes.push(last);
                Expr::Tuple(indexes)
            }
            None => Expr::Tuple(indexes),
        };
        Ok(Expr::Item(Box::new(value), Box::new(index)))
    }

    fn index(&mut self) -> Outcome<Expr> {
        let mut parts = [None, None, None];
        if !self.is_operator(":") {
            let value = self.expression()?;
            if !self.is_operator(":") {
                return Ok(value);
            }
            parts[0] = Some(value);
        }
        for part in parts.iter_mut().skip(1) {
            if !self.skip_operator(":") {
                break;
            }
            if !self.is_operator(":") && !self.is_operator("]") && !self.is_operator(",") {
                *part = Some(self.expression()?);
            }
        }
        Ok(Expr::Slice(Box::new(parts)))
    }

    fn filters_and_tests(&mut self, mut value: Expr) -> Outcome<Expr> {
        let mut links = 0;
        loop {
            match self.peek() {
                Token::Operator("|") => value = self.filter_chain(Some(value), false)?,
                Token::Name(name) if &**name == "is" => value = self.test(value)?,
                Token::Operator("(") => {
                    value = Expr::Call(Box::new(value), self.call_arguments()?);
                }
                _ => {
                    self.depth -= links;
                    return Ok(value);
                }
            }
            links += 1;
            self.deeper()?;
        }
    }

    pub fn call_arguments(&mut self) -> Outcome<CallArguments> {
        let mut arguments = CallArguments::default();
        let mut first = true;
        self.expect_operator("(")?;
        while !self.is_operator(")") {
            if !first {
                self.expect_operator(",")?;
                if self.is_operator(")") {
                    break;
                }
            }
            first = false;
            let starred = arguments.star.is_some() || arguments.double_star.is_some();
            let named = matches!(self.peek(), Token::Name(_))
                && matches!(self.peek_after(), Token::Operator("="));
            let bad = if self.skip_operator("*") {
                arguments.star = Some(Box::new(self.expression()?));
                starred
            } else if self.skip_operator("**") {
                let twice = arguments.double_star.is_some();
                arguments.double_star = Some(Box::new(self.expression()?));
                twice
            } else if named {
                let name = self.expect_name()?;
                self.next();
                let value = self.expression()?;
                if arguments.named.iter().any(|(other, _)| *other == name) {
                    return Err(self.fail(format!("keyword argument repeated: {name}")));
                }
                arguments.named.push((name, value));
                arguments.double_star.is_some()
            } else {
                arguments.positional.push(self.expression()?);
                starred || !arguments.named.is_empty()
            };
            if bad {
                return Err(self.fail("invalid syntax for function call expression"));
            }
        }
        self.expect_operator(")")?;
        Ok(arguments)
    }

    fn dotted_name(&mut self) -> Outcome<Arc<str>> {
        let mut name = self.expect_name()?;
        while self.skip_operator(".") {
            name = Arc::from(format!("{name}.{}", self.expect_name()?));
        }
        Ok(name)
    }

    /// "|name(arguments)" one or several times; `inline`: the first has no bar.
    pub fn filter_chain(&mut self, operand: Option<Expr>, mut inline: bool) -> Outcome<Expr> {
        let mut value = operand;
        let mut links = 0;
        while inline || self.is_operator("|") {
            if !inline {
                self.next();
            }
            inline = false;
            let name = self.dotted_name()?;
            if !self.soft && !is_filter(&name) {
                return Err(self.fail(format!("No filter named '{name}'.")));
            }
            let arguments = match self.is_operator("(") {
                true => self.call_arguments()?,
                false => CallArguments::default(),
            };
            value = Some(Expr::Filter(value.map(Box::new), name, arguments));
            links += 1;
            self.deeper()?;
        }
        self.depth -= links;
        value.ok_or_else(|| self.unexpected("a filter"))
    }

    fn test(&mut self, value: Expr) -> Outcome<Expr> {
        self.next();
        let negated = self.skip_name("not");
        let name = self.dotted_name()?;
        if !self.soft && !is_predicate(&name) {
            return Err(self.fail(format!("No test named '{name}'.")));
        }
        let mut arguments = CallArguments::default();
        let has_operand = match self.peek() {
            Token::Operator("(") => {
                arguments = self.call_arguments()?;
                false
            }
            Token::Name(word) => match &**word {
                "else" | "or" | "and" => false,
                "is" => return Err(self.fail("You cannot chain multiple tests with is")),
                _ => true,
            },
            Token::Str(_) | Token::Int(_) | Token::Float(_) => true,
            Token::Operator("[" | "{") => true,
            _ => false,
        };
        if has_operand {
            let operand = self.primary()?;
            arguments.positional.push(self.postfix(operand)?);
        }
        let test = Expr::Test(Box::new(value), name, arguments);
        Ok(if negated { Expr::Not(Box::new(test)) } else { test })
    }
}
