//! Long lists, a page at a time.

use sabir::ErrorObject;

use crate::error::invalid;

/// One page of a list, and where the next one begins.
pub(crate) fn page<'l, T>(
    list: &'l [T],
    cursor: Option<&str>,
    size: usize,
) -> Result<(&'l [T], Option<String>), ErrorObject> {
    let start = match cursor {
        None => 0,
        Some(cursor) => cursor
            .strip_prefix("at-")
            .and_then(|at| at.parse::<usize>().ok())
            .filter(|at| *at <= list.len())
            .ok_or_else(|| invalid("`cursor` was not issued by this server; start again without it"))?,
    };
    let end = start.saturating_add(size.max(1)).min(list.len());
    Ok((&list[start..end], (end < list.len()).then(|| format!("at-{end}"))))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    #[test]
    fn pages_follow_each_other() {
        let list = [1, 2, 3, 4, 5];
        for (cursor, want) in [
            (None, Some((&[1, 2][..], Some("at-2")))),
            (Some("at-2"), Some((&[3, 4][..], Some("at-4")))),
            (Some("at-4"), Some((&[5][..], None))),
            (Some("at-5"), Some((&[][..], None))),
            (Some("at-6"), None),
            (Some("2"), None),
        ] {
            let got = page(&list, cursor, 2).ok();
            let got = got.as_ref().map(|(page, next)| (*page, next.as_deref()));
            assert_eq!(got, want, "{cursor:?}");
        }
        assert_eq!(page(&list, None, usize::MAX).unwrap().0.len(), 5);
    }
}
