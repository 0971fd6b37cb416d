//! This file writes the verdicts as `JUnit` XML, which CI systems show.

use evenkeel_sim::Named;

use super::assertion::Verdict;

/// One suite: a case for each assertion, and one for the warnings.
pub(crate) fn xml(named: &Named, verdicts: &[Verdict], deny_warnings: bool) -> String {
    let warned = deny_warnings && !named.warnings.is_empty();
    let failures = verdicts.iter().filter(|verdict| !verdict.passes).count() + usize::from(warned);
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"evenkeel check {}\" \
         tests=\"{}\" failures=\"{failures}\">\n",
        escape(&named.name),
        verdicts.len() + 1
    );
    xml += &case("warnings", warned.then(|| named.warnings.join("; ")).as_deref());
    for verdict in verdicts {
        let why = format!("got {}", verdict.got);
        xml += &case(&verdict.text, (!verdict.passes).then_some(&why));
    }
    xml += "</testsuite>\n";
    xml
}

fn case(name: &str, failure: Option<&str>) -> String {
    let name = escape(name);
    match failure {
        None => format!("  <testcase classname=\"evenkeel\" name=\"{name}\"/>\n"),
        Some(why) => format!(
            "  <testcase classname=\"evenkeel\" name=\"{name}\"><failure message=\"{}\"/></testcase>\n",
            escape(why)
        ),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
