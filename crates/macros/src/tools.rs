//! Tools of MCP from the methods of a struct.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, Ident, ImplItem, ImplItemFn, ItemImpl, LitBool, LitStr, Pat, ReceiverKind,
    Result, ReturnType, Type,
};

use crate::attributes::{doc, named, unknown};
use crate::definition::outline;

/// The `impl` block as it was, without what is for us, and the tools of its type.
pub(crate) fn expand(mut item: ItemImpl) -> Result<TokenStream> {
    if item.trait_.is_some() {
        return Err(Error::new(
            item.impl_token.span(),
            "`#[sabir_mcp::tools]` can only be used on an inherent `impl` block",
        ));
    }
    let mut tools = Vec::new();
    for entry in &mut item.items {
        if let ImplItem::Fn(function) = entry
            && let Some(tool) = Tool::take(function)?
        {
            tools.push(tool);
        }
    }
    if tools.is_empty() {
        return Err(Error::new(
            item.self_ty.span(),
            "there are no tools: write `#[tool]` before the methods that are",
        ));
    }
    let (generics, _, where_clause) = item.generics.split_for_impl();
    let type_ = &item.self_ty;
    Ok(quote! {
        #item

        #[automatically_derived]
        impl #generics ::sabir_mcp::Tools for #type_ #where_clause {
            fn add_shared(this: &::std::sync::Arc<Self>, catalog: &::sabir_mcp::Catalog) {
                #(#tools)*
            }
        }
    })
}

struct Tool {
    method: Ident,
    options: Options,
    doc: String,
    is_async: bool,
    arguments: Vec<Argument>,
    output: Type,
}

enum Argument {
    Ctx,
    Field { name: Ident, type_: Box<Type>, attributes: Vec<Attribute> },
}

#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    title: Option<LitStr>,
    icons: Vec<LitStr>,
    /// The method of the listed tool that makes it a task.
    task: Option<Ident>,
    /// Hints by the names of their fields.
    hints: Vec<(Ident, bool)>,
}

impl Options {
    fn parse(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        const HINTS: [(&str, &str); 4] = [
            ("read_only", "read_only_hint"),
            ("destructive", "destructive_hint"),
            ("idempotent", "idempotent_hint"),
            ("open_world", "open_world_hint"),
        ];
        if meta.path.is_ident("name") {
            self.name = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("title") {
            self.title = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("icon") {
            self.icons.push(meta.value()?.parse()?);
        } else if meta.path.is_ident("task") || meta.path.is_ident("task_only") {
            self.task = meta.path.get_ident().cloned();
        } else if let Some((_, field)) = HINTS.iter().find(|(option, _)| meta.path.is_ident(option)) {
            let value = match meta.input.peek(syn::Token![=]) {
                true => meta.value()?.parse::<LitBool>()?.value,
                false => true,
            };
            self.hints.push((Ident::new(field, meta.path.span()), value));
        } else {
            return Err(unknown(
                meta,
                "`name`, `title`, `icon`, `task`, `task_only`, `read_only`, `destructive`, `idempotent` or \
                 `open_world`",
            ));
        }
        Ok(())
    }
}

impl Tool {
    /// Reads a method that is a tool, and takes away what the compiler would not understand.
    fn take(function: &mut ImplItemFn) -> Result<Option<Tool>> {
        let Some(attribute) = named(&function.attrs, "tool").next() else { return Ok(None) };
        let mut options = Options::default();
        if !matches!(attribute.meta, syn::Meta::Path(_)) {
            attribute.parse_nested_meta(|meta| options.parse(&meta))?;
        }
        function.attrs.retain(|attribute| !attribute.path().is_ident("tool"));
        let sig = &mut function.sig;
        if let Some(param) = sig.generics.params.first() {
            return Err(Error::new(param.span(), "a tool cannot be generic: its name stands for one method"));
        }
        let by_reference = match sig.inputs.first() {
            Some(FnArg::Receiver(receiver)) => matches!(receiver.kind, ReceiverKind::Reference(_, _, None)),
            _ => false,
        };
        if !by_reference {
            let why = "tools run side by side and take `&self`: keep what changes in a `Mutex`";
            return Err(Error::new(sig.ident.span(), why));
        }
        let arguments = sig.inputs.iter_mut().skip(1).map(Argument::take).collect::<Result<_>>()?;
        let output = match &sig.output {
            ReturnType::Default => syn::parse_quote!(()),
            ReturnType::Type(_, type_) if matches!(**type_, Type::ImplTrait(_)) => {
                return Err(Error::new(type_.span(), "a tool names the type that it returns"));
            }
            ReturnType::Type(_, type_) => (**type_).clone(),
        };
        Ok(Some(Tool {
            method: sig.ident.clone(),
            options,
            doc: doc(&function.attrs),
            is_async: sig.asyncness.is_some(),
            arguments,
            output,
        }))
    }
}

impl Argument {
    fn take(input: &mut FnArg) -> Result<Argument> {
        let FnArg::Typed(typed) = input else {
            return Err(Error::new(input.span(), "expected an argument"));
        };
        let name = match &*typed.pat {
            Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => pat.ident.clone(),
            other => {
                return Err(Error::new(
                    other.span(),
                    "an argument is a plain name: the model gives it by that",
                ));
            }
        };
        if let Type::Reference(_) | Type::ImplTrait(_) = &*typed.ty {
            return Err(Error::new(
                typed.ty.span(),
                "arguments are read from a message: take an owned type, such as `String` for `&str`",
            ));
        }
        let attributes = std::mem::take(&mut typed.attrs);
        if outline(&typed.ty).0 == "McpCtx" {
            return Ok(Argument::Ctx);
        }
        Ok(Argument::Field { name, type_: typed.ty.clone(), attributes })
    }

    fn field(&self) -> Option<TokenStream> {
        let Argument::Field { name, type_, attributes } = self else { return None };
        let passed = ["doc", "serde", "schemars"].into_iter().flat_map(|name| named(attributes, name));
        let wire_name = name.unraw().to_string();
        let wire_name = wire_name.trim_start_matches('_');
        let says = |word: &str| {
            named(attributes, "serde").any(|attribute| {
                attribute.meta.to_token_stream().into_iter().any(|token| token.to_string().contains(word))
            })
        };
        let rename = (!says("rename") && !says("flatten")).then(|| quote!(#[serde(rename = #wire_name)]));
        let default = (outline(type_).0 == "Option" && !says("default") && !says("flatten"))
            .then(|| quote!(#[serde(default)]));
        Some(quote!(#(#passed)* #rename #default #name: #type_))
    }
}

impl ToTokens for Tool {
    /// Adds the tool to `catalog`, as a method of `this`.
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Tool { method, is_async, arguments, output, .. } = self;
        let fields: Vec<_> = arguments.iter().filter_map(Argument::field).collect();
        let (definition, type_) = match fields.is_empty() {
            true => (quote!(), quote!(())),
            false => (
                quote! {
                    #[derive(
                        ::sabir_mcp::private::serde::Deserialize,
                        ::sabir_mcp::private::schemars::JsonSchema,
                    )]
                    #[serde(crate = "::sabir_mcp::private::serde")]
                    #[schemars(crate = "::sabir_mcp::private::schemars")]
                    struct Arguments { #(#fields,)* }
                },
                quote!(Arguments),
            ),
        };
        let values = arguments.iter().map(|argument| match argument {
            Argument::Ctx => quote!(::core::clone::Clone::clone(&__ctx)),
            Argument::Field { name, .. } => quote!(__arguments.#name),
        });
        let call = quote!(Self::#method(&__this, #(#values),*));
        let tool = self.listed();
        let result = quote!(::sabir_mcp::IntoToolResult::into_tool_result);
        let added = match is_async {
            true => quote! {
                catalog.add_tool(#tool, move |__ctx: ::sabir_mcp::McpCtx, __arguments: #type_| {
                    let __this = ::std::sync::Arc::clone(&__this);
                    async move { #result(#call.await) }
                });
            },
            false => quote! {
                catalog.add_tool_blocking(#tool, move |__ctx: ::sabir_mcp::McpCtx, __arguments: #type_| {
                    #result(#call)
                });
            },
        };
        tokens.extend(quote! {
            {
                #definition
                let __this = ::std::sync::Arc::clone(this);
                let __output = <#output as ::sabir_mcp::IntoToolResult>::output_schema();
                #added
            }
        });
    }
}

impl Tool {
    /// The tool as it is listed, but for its arguments.
    fn listed(&self) -> TokenStream {
        let Tool { method, options: Options { name, title, icons, task, hints }, doc, .. } = self;
        let name = match name {
            Some(name) => name.value(),
            None => method.unraw().to_string(),
        };
        let title = title.as_ref().map(
            |title| quote!(__tool.title = ::core::option::Option::Some(::std::string::String::from(#title));),
        );
        let description = (!doc.is_empty()).then(
            || quote!(__tool.description = ::core::option::Option::Some(::std::string::String::from(#doc));),
        );
        let annotations = (!hints.is_empty()).then(|| {
            let hints = hints
                .iter()
                .map(|(hint, value)| quote!(__annotations.#hint = ::core::option::Option::Some(#value);));
            quote! {
                let mut __annotations = ::sabir_mcp::ToolAnnotations::default();
                #(#hints)*
                __tool.annotations = ::core::option::Option::Some(__annotations);
            }
        });
        let task = task.as_ref().map(|task| quote!(.#task()));
        quote!({
            let mut __tool = ::sabir_mcp::Tool::from(#name);
            __tool.output_schema = __output;
            #title
            #description
            #annotations
            #(__tool.icons.push(::sabir_mcp::Icon::new(#icons));)*
            __tool #task
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_tool_is_an_error_that_says_why() {
        for (text, why) in [
            (
                "impl Tools for Disk { #[tool] fn f(&self) {} }",
                "can only be used on an inherent `impl` block",
            ),
            ("impl Disk { fn f(&self) {} }", "there are no tools"),
            ("impl Disk { #[tool] fn f() {} }", "take `&self`"),
            ("impl Disk { #[tool] fn f(&mut self) {} }", "take `&self`"),
            ("impl Disk { #[tool] fn f(self) {} }", "take `&self`"),
            ("impl Disk { #[tool] fn f<T>(&self, t: T) {} }", "cannot be generic"),
            ("impl Disk { #[tool] fn f(&self, (a, b): (u8, u8)) {} }", "a plain name"),
            ("impl Disk { #[tool] fn f(&self, path: &str) {} }", "such as `String`"),
            ("impl Disk { #[tool] fn f(&self) -> impl ToString { 1 } }", "names the type"),
            ("impl Disk { #[tool(fast)] fn f(&self) {} }", "unknown option: expected `name`, `title`"),
            ("impl Disk { #[tool(destructive = 1)] fn f(&self) {} }", "expected boolean literal"),
        ] {
            let item = syn::parse_str(text).expect(text);
            match expand(item) {
                Ok(_) => panic!("{text} was taken"),
                Err(error) => assert!(error.to_string().contains(why), "{text}: {error}"),
            }
        }
    }
}
