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

/// The setters of everything that can be asked to stop: it has a `grace`, and `handles_signals`.
macro_rules! stop_setters {
    () => {
        /// Sets how long connections that are asked to stop may take to finish what is open. 1.5 s.
        #[must_use]
        pub fn grace(mut self, grace: std::time::Duration) -> Self {
            self.grace = grace;
            self
        }

        /// Stops gracefully when the process is asked to, by SIGTERM or SIGINT, on Windows by Ctrl-C, Ctrl-Break or the
        /// closing of the console: what is open may finish, for as long as the [grace](Self::grace). Without it no
        /// signal handler is installed, and signals do what the process has set: by default they end it.
        #[must_use]
        pub fn with_signals(mut self) -> Self {
            self.handles_signals = true;
            self
        }
    };
}

pub(crate) use {config_setters, stop_setters};
