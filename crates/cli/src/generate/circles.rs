//! Which definitions lead back to themselves, in time that grows with the number of references.

use std::collections::HashMap;

use super::model::{Type, TypeDef};

/// References between definitions, by their indices.
pub(super) struct Graph {
    edges: Vec<Vec<usize>>,
}

impl Graph {
    /// With the references that `of` names for each definition.
    pub(super) fn new<'t>(types: &'t [TypeDef], of: impl Fn(&'t TypeDef, &mut Vec<&'t str>)) -> Self {
        let indices: HashMap<&str, usize> =
            types.iter().enumerate().map(|(index, type_)| (type_.name.as_str(), index)).collect();
        let mut names = Vec::new();
        let edges = types.iter().map(|type_| {
            names.clear();
            of(type_, &mut names);
            names.iter().filter_map(|name| indices.get(name).copied()).collect()
        });
        Graph { edges: edges.collect() }
    }

    /// Definitions without which there is no circle.
    pub(super) fn cuts(&self) -> Vec<usize> {
        let mut cuts = Vec::new();
        self.walk(|_| {}, |circle| cuts.push(circle));
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    /// A number for each definition. Two that lead to each other have the same.
    pub(super) fn groups(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.edges.len());
        self.walk(|left| order.push(left), |_| {});
        let mut back = vec![Vec::new(); self.edges.len()];
        for (from, edges) in self.edges.iter().enumerate() {
            edges.iter().for_each(|&to| back[to].push(from));
        }
        // Kosaraju: against the references, in the order in which the walk left them, last first.
        let mut groups = vec![usize::MAX; self.edges.len()];
        for &first in order.iter().rev() {
            let mut open = vec![first];
            while let Some(index) = open.pop() {
                if groups[index] == usize::MAX {
                    groups[index] = first;
                    open.extend(&back[index]);
                }
            }
        }
        groups
    }

    /// Walks along all references, each once. `leave` gets each definition after those behind it, and `circle` each
    /// that was reached from itself.
    fn walk(&self, mut leave: impl FnMut(usize), mut circle: impl FnMut(usize)) {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            /// On the way to where the walk is.
            Open,
            Left,
        }
        let mut marks = vec![Mark::New; self.edges.len()];
        for root in 0..self.edges.len() {
            if marks[root] != Mark::New {
                continue;
            }
            marks[root] = Mark::Open;
            let mut path = vec![(root, 0)];
            while let Some((index, next)) = path.last_mut() {
                let Some(&to) = self.edges[*index].get(*next) else {
                    marks[*index] = Mark::Left;
                    leave(*index);
                    path.pop();
                    continue;
                };
                *next += 1;
                match marks[to] {
                    Mark::Open => circle(to),
                    Mark::Left => {}
                    Mark::New => {
                        marks[to] = Mark::Open;
                        path.push((to, 0));
                    }
                }
            }
        }
    }
}

/// The names in a type, with those in lists and maps, or in tuples, if these are asked for.
pub(super) fn names<'t>(type_: &'t Type, lists: bool, tuples: bool, out: &mut Vec<&'t str>) {
    match type_ {
        Type::Named(name) => out.push(name),
        Type::Nullable(inner) => names(inner, lists, tuples, out),
        Type::List(inner) | Type::Map(inner) if lists => names(inner, lists, tuples, out),
        Type::Tuple(items) if tuples => items.iter().for_each(|item| names(item, lists, tuples, out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found() {
        for (edges, cuts, together) in [
            (vec![vec![]], vec![], vec![]),
            (vec![vec![0]], vec![0], vec![]),
            (vec![vec![1], vec![2], vec![]], vec![], vec![]),
            (vec![vec![1], vec![2], vec![1]], vec![1], vec![(1, 2)]),
            (vec![vec![1], vec![0], vec![3], vec![2, 0]], vec![0, 2], vec![(0, 1), (2, 3)]),
            (vec![vec![1, 2], vec![2], vec![0]], vec![0], vec![(0, 1), (0, 2), (1, 2)]),
        ] {
            let graph = Graph { edges };
            assert_eq!(graph.cuts(), cuts, "{:?}", graph.edges);
            let groups = graph.groups();
            let pairs = (0..groups.len()).flat_map(|a| (a + 1..groups.len()).map(move |b| (a, b)));
            let same: Vec<_> = pairs.filter(|(a, b)| groups[*a] == groups[*b]).collect();
            assert_eq!(same, together, "{:?}", graph.edges);
        }
    }
}
