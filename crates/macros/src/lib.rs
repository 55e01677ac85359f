//! The macros of `sabir` and `sabir-mcp`, which re-export and document them: a service from a trait, errors with codes from an enum,
//! and tools from the methods of a struct.

mod attributes;
mod client;
mod definition;
mod errors;
mod names;
mod params;
mod server;
mod tools;

use proc_macro::TokenStream;
use quote::quote;
use syn::parse_macro_input;

// `sabir` documents it where it re-exports it: there the example can run.
#[allow(missing_docs)]
#[proc_macro_attribute]
pub fn service(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut options = definition::Options::default();
    let parser = syn::meta::parser(|meta| options.parse(&meta));
    parse_macro_input!(attribute with parser);
    let item = parse_macro_input!(item as syn::Item);
    let service = match definition::Service::new(item, &options) {
        Ok(service) => service,
        Err(error) => return error.into_compile_error().into(),
    };
    let params = params::structs(&service);
    let server = server::trait_(&service);
    let shared = server::shared(&service);
    let client = client::struct_(&service);
    let implementation = client::implementation(&service);
    quote!(#server #shared #params #client #implementation).into()
}

/// Makes an error of a service from an enum: each variant has a code, and its fields are the error's `data`.
///
/// | on | attribute | does |
/// |---|---|---|
/// | variant | `#[rpc(code = 1)]` | its code, which must be its own |
/// | variant | `#[rpc(message = "only {balance} left")]` | its message, with fields in braces; otherwise the doc comment, or the name |
/// | variant | `#[rpc(other)]` | holds a `sabir::ErrorObject`: every error that no other variant is |
/// | variant | `#[rpc(transparent)]` | holds another `RpcError`, which is sent as itself |
///
/// The enum also gets `Display`, which writes the message.
///
/// See the trait `sabir::RpcError` for an example.
#[proc_macro_derive(RpcError, attributes(rpc))]
pub fn rpc_error(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as syn::DeriveInput);
    errors::derive(item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes tools of MCP of the methods with `#[tool]`. `sabir_mcp` shows it with an example.
#[proc_macro_attribute]
pub fn tools(attribute: TokenStream, item: TokenStream) -> TokenStream {
    parse_macro_input!(attribute as syn::parse::Nothing);
    let item = parse_macro_input!(item as syn::ItemImpl);
    tools::expand(item).unwrap_or_else(syn::Error::into_compile_error).into()
}
