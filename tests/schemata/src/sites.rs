//! This file knows where in a source the mutants of a list are.

use crate::{Mutant, Place};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};
use syn::{
    Arm, Block, Expr, ExprBinary, ExprLet, ExprUnary,
    spanned::Spanned as _,
    visit::{self, Visit},
};

/// The places of one file where something is changed, in the order of the source, outer ones first.
pub(crate) struct Sites {
    pub(crate) sites: Vec<Site>,
    pub(crate) found: BTreeSet<usize>,
}

/// A place where one of several mutants may be chosen.
pub(crate) struct Site {
    pub(crate) whole: Range<usize>,
    pub(crate) what: What,
    /// The number of each mutant, and what it puts there.
    pub(crate) mutants: Vec<(usize, String)>,
}

pub(crate) enum What {
    /// The operands around an operator.
    Binary { left: Range<usize>, operator: Range<usize>, right: Range<usize> },
    /// The operand behind an operator that is deleted.
    Unary { operand: Range<usize> },
    /// A condition that is always or never true.
    Guard,
    /// The beginning of a function's body.
    Body,
}

/// Finds the mutants of a file, or says why it is no Rust.
pub(crate) fn find(source: &str, mutants: &[(usize, &Mutant)]) -> syn::Result<Sites> {
    let mut wanted: BTreeMap<(&str, usize), Vec<(usize, String)>> = BTreeMap::new();
    for (number, mutant) in mutants {
        if let Some(at) = offset(source, mutant.span.start) {
            let here = wanted.entry((&mutant.genre, at)).or_default();
            here.push((*number, mutant.replacement.clone()));
        }
    }
    let mut finder = Finder { wanted, sites: Vec::new(), found: BTreeSet::new() };
    finder.visit_file(&syn::parse_file(source)?);
    finder.sites.sort_by_key(|site| (site.whole.start, usize::MAX - site.whole.end));
    Ok(Sites { sites: finder.sites, found: finder.found })
}

/// Where in the source a place is.
fn offset(source: &str, place: Place) -> Option<usize> {
    let before: usize = source.split_inclusive('\n').take(place.line - 1).map(str::len).sum();
    let line = source.get(before..)?;
    let (at, _) = line.char_indices().nth(place.column - 1)?;
    Some(before + at)
}

struct Finder<'a> {
    wanted: BTreeMap<(&'a str, usize), Vec<(usize, String)>>,
    sites: Vec<Site>,
    found: BTreeSet<usize>,
}

impl<'a> Finder<'a> {
    fn take(&mut self, genre: &'a str, at: usize, whole: Range<usize>, what: What) {
        let Some(mutants) = self.wanted.remove(&(genre, at)) else { return };
        self.found.extend(mutants.iter().map(|(number, _)| *number));
        self.sites.push(Site { whole, what, mutants });
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr_binary(&mut self, node: &'ast ExprBinary) {
        let (left, right) = (node.left.span().byte_range(), node.right.span().byte_range());
        let operator = node.op.span().byte_range();
        // `let` is an expression only in a chain of `&&`, which cannot be taken apart.
        if !has_let(&node.left) && !has_let(&node.right) {
            let what = What::Binary { left, operator: operator.clone(), right };
            self.take("BinaryOperator", operator.start, node.span().byte_range(), what);
        }
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast ExprUnary) {
        let operand = node.expr.span().byte_range();
        let at = node.op.span().byte_range().start;
        self.take("UnaryOperator", at, node.span().byte_range(), What::Unary { operand });
        visit::visit_expr_unary(self, node);
    }

    fn visit_arm(&mut self, node: &'ast Arm) {
        if let Some((_, guard)) = &node.guard {
            let whole = guard.span().byte_range();
            self.take("MatchArmGuard", whole.start, whole, What::Guard);
        }
        visit::visit_arm(self, node);
    }

    fn visit_block(&mut self, node: &'ast Block) {
        if let Some(first) = node.stmts.first() {
            let at = first.span().byte_range().start;
            let begins = node.brace_token.span.open().byte_range().end;
            self.take("FnValue", at, begins..begins, What::Body);
        }
        visit::visit_block(self, node);
    }
}

fn has_let(expression: &Expr) -> bool {
    struct Let(bool);
    impl<'ast> Visit<'ast> for Let {
        fn visit_expr_let(&mut self, _: &'ast ExprLet) {
            self.0 = true;
        }
        // What is inside braces is a chain of its own.
        fn visit_block(&mut self, _: &'ast Block) {}
    }
    let mut found = Let(false);
    found.visit_expr(expression);
    found.0
}
