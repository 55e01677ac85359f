//! What stands before things: doc comments, `#[rpc(…)]`, and what is left to others.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, Result};

/// The text of the doc comments.
pub(crate) fn doc(attributes: &[Attribute]) -> String {
    let lines: Vec<_> = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) => match &pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    let lines: Vec<_> = lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end()).collect();
    lines.join("\n").trim().to_owned()
}

/// The attributes of this name.
pub(crate) fn named<'a>(attributes: &'a [Attribute], name: &'a str) -> impl Iterator<Item = &'a Attribute> {
    attributes.iter().filter(move |attribute| attribute.path().is_ident(name))
}

/// Reads every `#[rpc(…)]`, and takes it away.
pub(crate) fn take_rpc(
    attributes: &mut Vec<Attribute>,
    mut option: impl FnMut(&ParseNestedMeta<'_>) -> Result<()>,
) -> Result<()> {
    for attribute in named(attributes, "rpc") {
        attribute.parse_nested_meta(|meta| option(&meta))?;
    }
    attributes.retain(|attribute| !attribute.path().is_ident("rpc"));
    Ok(())
}

/// What to say of an option that nobody knows.
pub(crate) fn unknown(meta: &ParseNestedMeta<'_>, known: &str) -> syn::Error {
    meta.error(format_args!("unknown option: expected {known}"))
}
