//! Whose connection a row is of: several captures are shown together, and each counts its own connections.
//!
//! Where the messages of one capture carry a trace that was seen on the way to the server of another, that server is the
//! client here: the hops of a call are drawn as one chain.

use std::collections::HashMap;

use serde::Serialize;

/// Connections with a number of their own, as in an index.
const MOST: usize = u16::MAX as usize;

/// Clients of one capture that are drawn by themselves; the others are drawn as one.
const CLIENTS: usize = 6;

#[derive(Debug, Default)]
pub(in crate::view) struct Connections {
    /// By the source and the number that it has there.
    numbers: HashMap<(u16, u64), u64>,
    sources: HashMap<u64, u16>,
    last: u64,
    /// The connections of each source, in the order in which they came.
    of_source: Vec<Vec<u64>>,
    /// For each source the one whose server is its client.
    behind: HashMap<u16, u16>,
}

/// Who is drawn, and between whom the messages of a connection are.
#[derive(Debug, Serialize)]
pub(in crate::view) struct Lifelines {
    names: Vec<String>,
    /// Connection, client, server.
    connections: Vec<(u64, usize, usize)>,
}

impl Connections {
    /// The number of a connection here. The first capture's connections keep theirs.
    pub(super) fn number(&mut self, source: u16, connection: u64) -> u64 {
        if let Some(number) = self.numbers.get(&(source, connection)) {
            return *number;
        }
        if self.numbers.len() >= MOST {
            return 0;
        }
        let number = match self.sources.contains_key(&connection) || connection == 0 {
            true => self.last + 1,
            false => connection,
        };
        self.last = self.last.max(number);
        self.numbers.insert((source, connection), number);
        self.sources.insert(number, source);
        let source = usize::from(source);
        if self.of_source.len() <= source {
            self.of_source.resize(source + 1, Vec::new());
        }
        self.of_source[source].push(number);
        number
    }

    /// The capture that a connection is of.
    pub(in crate::view) fn source(&self, connection: u64) -> u16 {
        self.sources.get(&connection).copied().unwrap_or(0)
    }

    /// The client of `source` is the server of `before`.
    pub(super) fn join(&mut self, source: u16, before: u16) {
        // Whoever is behind another is not before it, too.
        let mut at = before;
        while let Some(next) = self.behind.get(&at) {
            at = *next;
        }
        if at != source {
            self.behind.entry(source).or_insert(before);
        }
    }

    /// `servers` are the names of the servers of all sources.
    pub(in crate::view) fn lifelines(&self, servers: &[String]) -> Lifelines {
        let mut names: Vec<String> = Vec::new();
        let mut line_of: HashMap<u16, usize> = HashMap::new();
        let mut connections = Vec::new();
        // A source comes behind the one that it is joined to.
        let mut order: Vec<u16> = (0..self.of_source.len() as u16).collect();
        order.sort_by_key(|source| {
            let (mut depth, mut at) = (0, *source);
            while let Some(next) = self.behind.get(&at) {
                (depth, at) = (depth + 1, *next);
            }
            (at, depth)
        });
        for source in order {
            let numbers = &self.of_source[usize::from(source)];
            let before = self.behind.get(&source).and_then(|before| line_of.get(before)).copied();
            let mut clients = Vec::new();
            for (at, number) in numbers.iter().enumerate() {
                let client = match before {
                    Some(line) => line,
                    None if at >= CLIENTS => clients.last().map_or(0, |&(_, line)| line),
                    None => {
                        names.push(match (numbers.len(), at + 1) {
                            (1, _) => "client".to_owned(),
                            (2.., CLIENTS) if numbers.len() > CLIENTS => "other clients".to_owned(),
                            _ => format!("client {number}"),
                        });
                        names.len() - 1
                    }
                };
                clients.push((*number, client));
            }
            let name = servers.get(usize::from(source)).filter(|name| !name.is_empty());
            names.push(name.cloned().unwrap_or_else(|| "server".to_owned()));
            let server = names.len() - 1;
            line_of.insert(source, server);
            connections.extend(clients.into_iter().map(|(number, client)| (number, client, server)));
        }
        if names.is_empty() {
            names.extend(["client".to_owned(), "server".to_owned()]);
        }
        Lifelines { names, connections }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_drawn_as_a_chain_where_a_trace_joins_them() {
        let mut connections = Connections::default();
        assert_eq!(connections.number(0, 1), 1);
        assert_eq!(connections.number(1, 1), 2);
        assert_eq!(connections.number(1, 1), 2);
        assert_eq!((connections.source(1), connections.source(2)), (0, 1));
        let names = ["gateway".to_owned(), "store".to_owned()];
        let apart = connections.lifelines(&names);
        assert_eq!(apart.names, ["client", "gateway", "client", "store"]);
        assert_eq!(apart.connections, [(1, 0, 1), (2, 2, 3)]);
        connections.join(1, 0);
        // And never in a circle.
        connections.join(0, 1);
        let chain = connections.lifelines(&names);
        assert_eq!(chain.names, ["client", "gateway", "store"]);
        assert_eq!(chain.connections, [(1, 0, 1), (2, 1, 2)]);
    }

    #[test]
    fn many_clients_share_a_lifeline() {
        let mut connections = Connections::default();
        for number in 1..=20 {
            connections.number(0, number);
        }
        let lines = connections.lifelines(&[]);
        assert_eq!(lines.names.len(), CLIENTS + 1);
        assert_eq!(lines.names[CLIENTS - 1], "other clients");
        assert_eq!(lines.connections[19], (20, CLIENTS - 1, CLIENTS));
    }
}
