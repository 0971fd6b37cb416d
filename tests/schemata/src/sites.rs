//! This file knows where in a source the mutants of a list are.

use crate::{Mutant, Place};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};
use syn::{
    Arm, Block, Expr, ExprBinary, ExprLet, ExprRepeat, ExprStruct, ExprUnary, ImplItemConst,
    ImplItemFn, ItemConst, ItemFn, ItemStatic, ReturnType, Type, TypeArray,
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
    /// An arm that is never taken: its guard, or where one would be.
    Arm,
    /// A condition that is always or never true.
    Guard,
    /// Fields that are taken from what the others are taken from: for each mutant one, with its comma.
    Fields(Vec<Range<usize>>),
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

    /// A body that may be of any type that does something can only be of one.
    fn leave_out(&mut self, output: &ReturnType, body: &Block) {
        let ReturnType::Type(_, output) = output else { return };
        if let (Type::ImplTrait(_), Some(first)) = (&**output, body.stmts.first()) {
            self.wanted.remove(&("FnValue", first.span().byte_range().start));
        }
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
        let pattern = node.pat.span().byte_range();
        let guard = node.guard.as_ref().map(|(_, guard)| guard.span().byte_range());
        let whole = guard.clone().unwrap_or(pattern.end..pattern.end);
        self.take("MatchArm", node.span().byte_range().start, whole, What::Arm);
        if let Some(whole) = guard {
            self.take("MatchArmGuard", whole.start, whole, What::Guard);
        }
        visit::visit_arm(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast ExprStruct) {
        let (mut mutants, mut fields) = (Vec::new(), Vec::new());
        for pair in node.fields.pairs() {
            let field = pair.value().span().byte_range();
            let Some(deleted) = self.wanted.remove(&("StructField", field.start)) else { continue };
            self.found.extend(deleted.iter().map(|(number, _)| *number));
            let end = pair.punct().map_or(field.end, |comma| comma.span().byte_range().end);
            fields.extend(deleted.iter().map(|_| field.start..end));
            mutants.extend(deleted);
        }
        if !mutants.is_empty() {
            let whole = node.span().byte_range();
            self.sites.push(Site { whole, what: What::Fields(fields), mutants });
        }
        visit::visit_expr_struct(self, node);
    }

    fn visit_block(&mut self, node: &'ast Block) {
        if let Some(first) = node.stmts.first() {
            let at = first.span().byte_range().start;
            let begins = node.brace_token.span.open().byte_range().end;
            self.take("FnValue", at, begins..begins, What::Body);
        }
        visit::visit_block(self, node);
    }

    fn visit_item_fn(&mut self, node: &'ast ItemFn) {
        self.leave_out(&node.sig.output, &node.block);
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast ImplItemFn) {
        self.leave_out(&node.sig.output, &node.block);
        visit::visit_impl_item_fn(self, node);
    }

    // What is below is computed by the compiler, who knows of no variable.

    fn visit_item_const(&mut self, _: &'ast ItemConst) {}

    fn visit_impl_item_const(&mut self, _: &'ast ImplItemConst) {}

    fn visit_item_static(&mut self, _: &'ast ItemStatic) {}

    fn visit_type_array(&mut self, node: &'ast TypeArray) {
        self.visit_type(&node.elem);
    }

    fn visit_expr_repeat(&mut self, node: &'ast ExprRepeat) {
        self.visit_expr(&node.expr);
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
