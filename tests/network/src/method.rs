//! This file knows the methods and what may be done with each, by what its `.proto` says: written
//! down once more, because the audit must not learn it from what it audits.

/// The methods of `tests/proto/lab.proto`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Method {
    Charge,
    Chat,
    Echo,
    Export,
    Put,
    Upload,
}

impl Method {
    pub(crate) const ALL: [Self; 6] =
        [Self::Charge, Self::Chat, Self::Echo, Self::Export, Self::Put, Self::Upload];

    /// The one with this full path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        Some(match path.strip_prefix("/lab.v1.Lab/")? {
            "Charge" => Self::Charge,
            "Chat" => Self::Chat,
            "Echo" => Self::Echo,
            "Export" => Self::Export,
            "Put" => Self::Put,
            "Upload" => Self::Upload,
            _ => return None,
        })
    }

    /// Whether a server may see it twice.
    pub(crate) const fn may_repeat(self) -> bool {
        matches!(self, Self::Echo | Self::Export | Self::Put)
    }
}
