//! This file knows the example: a settings file that names every setting, at its default.

use super::inline;
use crate::Settings;
use crate::keys::{Block, Keys, Kind};

/// A settings file in TOML that names every setting with its meaning and its default. What has no
/// default is a comment.
///
/// ```
/// # #[cfg(feature = "toml")] {
/// use evenkeel_settings::{Settings, reference};
///
/// let every_section = Settings::from_toml(&reference::example())?;
/// assert!(every_section.hedging().is_some());
/// # }
/// # Ok::<(), evenkeel_settings::SettingsError>(())
/// ```
pub fn example() -> String {
    let mut example = Example { text: INTRODUCTION.to_owned(), path: Vec::new() };
    Settings::default().keys(&mut example);
    example.text
}

struct Example {
    text: String,
    path: Vec<&'static str>,
}

impl Keys for Example {
    fn key<K: Kind>(
        &mut self,
        name: &'static str,
        kind: K,
        slot: &mut K::Value,
        meaning: &'static str,
    ) {
        self.comment(&format!("{meaning} ({})", kind.words()));
        let line = match (kind.write(slot), kind.sample()) {
            (Some(value), _) => format!("{name} = {}\n", inline(&value)),
            (None, sample) => format!("#{name} = {}\n", sample.unwrap_or_default()),
        };
        self.text.push_str(&line);
    }

    fn block<B: Block>(&mut self, name: &'static str, _slot: &mut Option<B>) {
        self.path.push(name);
        self.text.push('\n');
        self.comment(B::MEANING);
        self.text.push_str(&format!("[{}]\n", self.path.join(".")));
        B::default().keys(self);
        self.path.pop();
    }
}

impl Example {
    fn comment(&mut self, text: &str) {
        let mut column = 0;
        for word in text.split_whitespace() {
            if column == 0 || column + word.len() >= WIDTH {
                self.text.push_str(if column == 0 { "# " } else { "\n# " });
                column = 2;
            } else {
                self.text.push(' ');
                column += 1;
            }
            self.text.push_str(word);
            column += word.len();
        }
        self.text.push('\n');
    }
}

const INTRODUCTION: &str = "\
# Every setting at its default. A section that is left out is off: copy the ones you want, and of
# these only the keys you want otherwise. A line that begins with # and no space has no default.
#:schema ../settings.schema.json
";

const WIDTH: usize = 100;
