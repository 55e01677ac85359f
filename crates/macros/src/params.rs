//! The params of each method as a struct, which serde reads by name and by position.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, LitStr};

use crate::attributes::named;
use crate::definition::{Argument, Default_, Method, Param, Service};

/// The struct of a method's params; `None` if it has none.
pub(crate) fn name(service: &Service, method: &Method) -> Option<Ident> {
    method.params().next().map(|_| format_ident!("__{}_{}", service.name, method.name))
}

/// The structs of all methods.
pub(crate) fn structs(service: &Service) -> TokenStream {
    let structs =
        service.methods.iter().filter_map(|method| Some(struct_(service, method, &name(service, method)?)));
    quote!(#(#structs)*)
}

fn struct_(service: &Service, method: &Method, name: &Ident) -> TokenStream {
    // Bounds are left to the derives, which know better what each of them needs.
    let types = service.type_params();
    let fields = method.params().map(|(argument, param)| field(argument, param, name, &types));
    let defaults = method.params().filter_map(|(argument, param)| match &param.default {
        Default_::Value(value) => {
            let (function, type_) = (default_name(&argument.name), &argument.type_);
            Some(quote!(fn #function() -> #type_ { #value }))
        }
        _ => None,
    });
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, non_snake_case)]
        #[derive(
            ::sabir::private::serde::Deserialize,
            ::sabir::private::serde::Serialize,
            ::sabir::private::schemars::JsonSchema,
        )]
        #[serde(crate = "::sabir::private::serde")]
        #[schemars(crate = "::sabir::private::schemars")]
        struct #name<#(#types),*> {
            #(#fields,)*
            #[serde(skip)]
            __types: ::core::marker::PhantomData<fn() -> (#(#types,)*)>,
        }
        impl<#(#types),*> #name<#(#types),*> {
            #(#defaults)*
        }
    }
}

fn field(argument: &Argument, param: &Param, name: &Ident, types: &[&Ident]) -> TokenStream {
    let Argument { name: field, type_, .. } = argument;
    let Param { wire_name, attributes, optional, default } = param;
    let default = match default {
        // A function, as a plain `default` would ask the type inside for one of its own.
        Default_::None if *optional => {
            let function = LitStr::new(&quote!(<#type_>::default).to_string(), field.span());
            quote!(#[serde(default = #function, skip_serializing_if = "Option::is_none")])
        }
        Default_::None => quote!(),
        Default_::Trait => quote!(#[serde(default)]),
        Default_::Value(_) => {
            let function = default_name(field);
            let path = quote!(#name::<#(#types),*>::#function).to_string();
            let path = LitStr::new(&path, field.span());
            quote!(#[serde(default = #path)])
        }
    };
    let passed = ["doc", "serde", "schemars"].into_iter().flat_map(|name| named(attributes, name));
    quote!(#(#passed)* #[serde(rename = #wire_name)] #default #field: #type_)
}

fn default_name(field: &Ident) -> Ident {
    format_ident!("__default_{field}")
}

/// A value of the struct from variables of its fields' names.
pub(crate) fn literal(service: &Service, method: &Method) -> TokenStream {
    match name(service, method) {
        Some(name) => {
            let fields = method.params().map(|(argument, _)| &argument.name);
            let types = service.type_params();
            quote!(#name::<#(#types),*> { #(#fields,)* __types: ::core::marker::PhantomData })
        }
        None => quote!(()),
    }
}

/// The type of the params.
pub(crate) fn type_(service: &Service, method: &Method) -> TokenStream {
    let types = service.type_params();
    match name(service, method) {
        Some(name) => quote!(#name<#(#types),*>),
        None => quote!(()),
    }
}
