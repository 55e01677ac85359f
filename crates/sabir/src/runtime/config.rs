//! How a connection speaks, set in the same way wherever one is made.

/// The setters of everything that has a `config`.
macro_rules! config_setters {
    () => {
        /// Sets the message framing. `None` detects it from what comes, for the side that answers.
        #[must_use]
        pub fn framing(mut self, framing: impl Into<Option<sabir_proto::Framing>>) -> Self {
            self.config.framing = framing.into();
            self
        }

        /// Sets the protocol rules: what is allowed, and which cancel and progress messages are used.
        #[must_use]
        pub fn dialect(mut self, dialect: sabir_proto::Dialect) -> Self {
            self.config.dialect = dialect;
            self
        }

        /// Sets how much of everything a connection may use.
        #[must_use]
        pub fn limits(mut self, limits: sabir_proto::Limits) -> Self {
            self.config.limits = limits;
            self
        }
    };
}

pub(crate) use config_setters;
