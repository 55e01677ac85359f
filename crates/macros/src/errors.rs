//! Errors with codes, from an enum.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, Ident, LitInt, LitStr, Result, Type, Variant};

use crate::attributes::{doc, take_rpc, unknown};

struct Case {
    name: Ident,
    code: i64,
    message: String,
    fields: Shape,
}

enum Shape {
    Unit,
    /// The data is the field itself.
    One(Box<Type>),
    /// The data is an object.
    Named(Vec<(Ident, Type, Vec<syn::Attribute>)>),
}

pub(crate) fn derive(item: DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = item.data else {
        return Err(Error::new(
            item.ident.span(),
            "the errors of a service are an enum: each variant has its code",
        ));
    };
    if let Some(param) = item.generics.params.first() {
        let why = "an error cannot be generic: both sides must know what its codes mean";
        return Err(Error::new_spanned(param, why));
    }
    let cases = data.variants.into_iter().map(case).collect::<Result<Vec<_>>>()?;
    let mut codes = HashSet::new();
    for case in &cases {
        if !codes.insert(case.code) {
            return Err(Error::new(
                case.name.span(),
                format_args!("the code {} is taken already", case.code),
            ));
        }
    }
    Ok(implementation(&item.ident, &cases))
}

fn case(mut variant: Variant) -> Result<Case> {
    let (mut code, mut message) = (None, None);
    take_rpc(&mut variant.attrs, |meta| {
        if meta.path.is_ident("code") {
            code = Some(read_code(meta.value()?)?);
        } else if meta.path.is_ident("message") {
            message = Some(meta.value()?.parse::<LitStr>()?.value());
        } else {
            return Err(unknown(meta, "`code` or `message`"));
        }
        Ok(())
    })?;
    let Some(code) = code else {
        return Err(Error::new(variant.ident.span(), "the error needs a code: `#[rpc(code = 1)]`"));
    };
    let plain = |text: String| text.replace('{', "{{").replace('}', "}}");
    let first_line =
        doc(&variant.attrs).lines().next().map(|line| plain(line.trim_end_matches('.').to_owned()));
    let message = message.or(first_line).unwrap_or_else(|| plain(variant.ident.to_string()));
    let fields = match variant.fields {
        Fields::Unit => Shape::Unit,
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Shape::One(Box::new(
            fields
                .unnamed
                .into_iter()
                .map(|field| field.ty)
                .next()
                .ok_or_else(|| Error::new(variant.ident.span(), "expected a field"))?,
        )),
        Fields::Unnamed(fields) => {
            return Err(Error::new_spanned(fields, "give the fields names: they are the members of `data`"));
        }
        Fields::Named(fields) => Shape::Named(
            fields
                .named
                .into_iter()
                .filter_map(|field| Some((field.ident?, field.ty, field.attrs)))
                .collect(),
        ),
    };
    Ok(Case { name: variant.ident, code, message, fields })
}

fn read_code(input: syn::parse::ParseStream<'_>) -> Result<i64> {
    let minus: Option<syn::Token![-]> = input.parse()?;
    let number: i64 = input.parse::<LitInt>()?.base10_parse()?;
    Ok(if minus.is_some() { -number } else { number })
}

fn implementation(name: &Ident, cases: &[Case]) -> TokenStream {
    let data_types = cases.iter().filter_map(|case| data_type(name, case));
    let to = cases.iter().map(|case| to_error(name, case));
    let from = cases.iter().map(|case| from_error(name, case));
    let described = cases.iter().map(|case| describe(name, case));
    quote! {
        const _: () = {
            #(#data_types)*

            impl ::sabir::RpcError for #name {
                fn to_error(&self) -> ::sabir::ErrorObject {
                    match self { #(#to)* }
                }

                fn from_error(error: &::sabir::ErrorObject) -> ::core::option::Option<Self> {
                    match error.code.0 { #(#from)* _ => ::core::option::Option::None }
                }

                fn describe(
                    generator: &mut ::sabir::private::schemars::SchemaGenerator,
                ) -> ::std::vec::Vec<::sabir::ErrorDescription> {
                    ::std::vec![#(#described),*]
                }
            }

            impl ::core::convert::From<#name> for ::sabir::ErrorObject {
                fn from(error: #name) -> Self {
                    ::sabir::RpcError::to_error(&error)
                }
            }
        };
    }
}

/// The struct that the named fields of a variant travel in.
fn data_name(name: &Ident, case: &Case) -> Ident {
    format_ident!("{name}{}", case.name)
}

fn data_type(name: &Ident, case: &Case) -> Option<TokenStream> {
    let Shape::Named(fields) = &case.fields else { return None };
    let data = data_name(name, case);
    let fields = fields.iter().map(|(name, type_, attributes)| quote!(#(#attributes)* #name: #type_));
    Some(quote! {
        #[derive(
            ::sabir::private::serde::Deserialize,
            ::sabir::private::serde::Serialize,
            ::sabir::private::schemars::JsonSchema,
        )]
        #[serde(crate = "::sabir::private::serde")]
        #[schemars(crate = "::sabir::private::schemars")]
        struct #data { #(#fields),* }
    })
}

fn to_error(name: &Ident, case: &Case) -> TokenStream {
    let Case { name: variant, code, .. } = case;
    // A lone field has no name that could stand in the message.
    let message = case.message.replace("{0", "{data");
    let message = quote!(::std::format!(#message));
    match &case.fields {
        Shape::Unit => quote!(#name::#variant => ::sabir::ErrorObject::new(#code, #message),),
        Shape::One(_) => {
            quote!(#name::#variant(data) => ::sabir::ErrorObject::new(#code, #message).with_data(data),)
        }
        Shape::Named(fields) => {
            let data = data_name(name, case);
            let names: Vec<_> = fields.iter().map(|(name, ..)| name).collect();
            quote! {
                #name::#variant { #(#names),* } => {
                    let error = ::sabir::ErrorObject::new(#code, #message);
                    error.with_data(&#data { #(#names: ::core::clone::Clone::clone(#names)),* })
                }
            }
        }
    }
}

fn from_error(name: &Ident, case: &Case) -> TokenStream {
    let Case { name: variant, code, .. } = case;
    match &case.fields {
        Shape::Unit => quote!(#code => ::core::option::Option::Some(#name::#variant),),
        Shape::One(_) => quote!(#code => ::sabir::private::read_data(error).map(#name::#variant),),
        Shape::Named(fields) => {
            let data = data_name(name, case);
            let names: Vec<_> = fields.iter().map(|(name, ..)| name).collect();
            quote! {
                #code => ::sabir::private::read_data(error)
                    .map(|#data { #(#names),* }| #name::#variant { #(#names),* }),
            }
        }
    }
}

fn describe(name: &Ident, case: &Case) -> TokenStream {
    let Case { code, message, .. } = case;
    let data = match &case.fields {
        Shape::Unit => quote!(::core::option::Option::None),
        Shape::One(type_) => quote!(::sabir::private::data_of::<#type_>(generator)),
        Shape::Named(_) => {
            let data = data_name(name, case);
            quote!(::sabir::private::data_of::<#data>(generator))
        }
    };
    let message = message.replace("{{", "{").replace("}}", "}");
    quote!(::sabir::ErrorDescription { code: #code, message: #message.into(), data: #data })
}
