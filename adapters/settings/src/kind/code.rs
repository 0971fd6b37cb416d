//! This file knows sets of status codes.

use std::borrow::Cow;

use evenkeel_core::{Code, CodeSet};

use crate::fault::Faults;
use crate::keys::Kind;
use crate::names::{LONGEST_NAME, nearest};
use crate::node::Node;

/// Status codes, by name in any case or by number; never `OK`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes;

impl Kind for Codes {
    type Value = CodeSet;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<CodeSet> {
        let Some(items) = node.as_list() else {
            faults.refuse(node, format!("must be {}", self.words()));
            return None;
        };
        let before = faults.count();
        let read = |(number, item)| faults.item(number, |faults| faults.take(item, code(item)));
        let codes = items.iter().enumerate().filter_map(read).collect();
        (faults.count() == before).then_some(codes)
    }

    fn write(&self, codes: &CodeSet) -> Option<Node<'static>> {
        Some(Node::list(codes.iter().map(|code| Node::text(code.name()))))
    }

    fn words(&self) -> String {
        "a list of status codes, such as \"UNAVAILABLE\" or 14".to_owned()
    }

    fn schema(&self) -> Node<'static> {
        // JSON Schema compares text as it is; any case is right here.
        let name = |code: Code| {
            let letter = |c: char| match c {
                '_' => "_".to_owned(),
                _ => format!("[{c}{}]", c.to_ascii_lowercase()),
            };
            code.name().chars().map(letter).collect::<String>()
        };
        let names: Vec<_> = Code::ALL.into_iter().skip(1).map(name).collect();
        let item = Node::table([
            ("type", Node::list(["integer", "string"].map(Node::text))),
            ("minimum", Node::number(1)),
            ("maximum", Node::number(16)),
            ("pattern", Node::text(format!("^({})$", names.join("|")))),
        ]);
        Node::table([("type", Node::text("array")), ("items", item)])
    }
}

/// # Errors
///
/// What would be right.
fn code(node: &Node<'_>) -> Result<Code, Cow<'static, str>> {
    match known_code(node) {
        Some(Code::Ok) => Err("OK is no failure".into()),
        Some(code) => Ok(code),
        None => {
            let hint = node
                .as_text()
                .and_then(near_code)
                .map_or_else(String::new, |near| format!("; did you mean {}?", near.name()));
            Err(format!("must be the name of a gRPC status code, or its number from 1 to 16{hint}")
                .into())
        }
    }
}

/// The code that somebody who wrote `text` may have meant.
fn near_code(text: &str) -> Option<Code> {
    if text.len() > LONGEST_NAME {
        return None;
    }
    let text = text.to_ascii_uppercase().replace(['-', ' '], "_");
    Code::from_name(nearest(&text, Code::ALL.iter().skip(1).map(|code| code.name()))?)
}

/// The code with this name in any case, or with this number.
pub(crate) fn known_code(node: &Node<'_>) -> Option<Code> {
    if let Some(code) = node.as_text().and_then(Code::from_name) {
        return Some(code);
    }
    let number = super::number::thousandths(node.as_number()?)?;
    Code::ALL
        .into_iter()
        .find(|code| u64::try_from(code.number()) == Ok(number / 1_000))
        .filter(|_| number.is_multiple_of(1_000))
}
