//! Colours, for terminals that want them.

/// The kind of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Paint {
    Key,
    String,
    Number,
    Word,
    Error,
    Warning,
    Hint,
    Why,
    Sent,
    Came,
}

impl Paint {
    /// As in `ESC [ … m`.
    fn code(self) -> &'static str {
        match self {
            Paint::Key => "34",
            Paint::String | Paint::Came => "32",
            Paint::Number | Paint::Sent => "36",
            Paint::Word => "33",
            Paint::Error => "1;31",
            Paint::Warning => "1;33",
            Paint::Hint => "1;36",
            Paint::Why => "2",
        }
    }
}

/// Paints, or leaves text as it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Painter {
    pub(crate) colour: bool,
}

impl Painter {
    #[cfg(test)]
    pub(crate) const PLAIN: Painter = Painter { colour: false };

    pub(crate) fn paint(self, out: &mut String, paint: Paint, text: &str) {
        if self.colour {
            out.push_str("\x1b[");
            out.push_str(paint.code());
            out.push('m');
            out.push_str(text);
            out.push_str("\x1b[0m");
        } else {
            out.push_str(text);
        }
    }
}
