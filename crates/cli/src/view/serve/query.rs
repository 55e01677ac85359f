//! What is behind the question mark of an address. The page writes numbers and plain words only.

pub(super) struct Query<'a>(pub(super) &'a str);

impl<'a> Query<'a> {
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.0.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            (key == name).then_some(value)
        })
    }

    pub(super) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }
}
