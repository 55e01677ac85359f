//! Errors with codes, from an enum.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, Ident, LitInt, LitStr, Result, Type, Variant};

use crate::attributes::{doc, take_rpc, unknown};

/// The variants by what becomes of them.
struct Cases {
    coded: Vec<Case>,
    /// Variants that hold another error of a service, which travels as itself.
    transparent: Vec<(Ident, Type)>,
    /// The variant that holds whatever no other one is.
    other: Option<Ident>,
}

/// A variant with a code.
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
            "`RpcError` can only be derived for an enum: each variant has a code",
        ));
    };
    if let Some(param) = item.generics.params.first() {
        let why = "an error enum cannot be generic: both sides must know what its codes mean";
        return Err(Error::new_spanned(param, why));
    }
    let mut cases = Cases { coded: Vec::new(), transparent: Vec::new(), other: None };
    for variant in data.variants {
        cases.add(variant)?;
    }
    let mut codes = HashSet::new();
    for case in &cases.coded {
        if !codes.insert(case.code) {
            return Err(Error::new(
                case.name.span(),
                format_args!("the code {} is taken already", case.code),
            ));
        }
    }
    Ok(implementation(&item.ident, &cases))
}

/// What `#[rpc(…)]` says of a variant.
#[derive(Default)]
struct Options {
    code: Option<i64>,
    message: Option<String>,
    other: bool,
    transparent: bool,
}

impl Cases {
    fn add(&mut self, mut variant: Variant) -> Result<()> {
        let mut options = Options::default();
        take_rpc(&mut variant.attrs, |meta| {
            if meta.path.is_ident("code") {
                options.code = Some(read_code(meta.value()?)?);
            } else if meta.path.is_ident("message") {
                options.message = Some(meta.value()?.parse::<LitStr>()?.value());
            } else if meta.path.is_ident("other") {
                options.other = true;
            } else if meta.path.is_ident("transparent") {
                options.transparent = true;
            } else {
                return Err(unknown(meta, "`code`, `message`, `other` or `transparent`"));
            }
            Ok(())
        })?;
        let span = variant.ident.span();
        match options {
            Options { code, message, other: false, transparent: false } => {
                let Some(code) = code else {
                    return Err(Error::new(span, "the error needs a code: `#[rpc(code = 1)]`"));
                };
                self.coded.push(case(variant, code, message)?);
            }
            Options { code: None, message: None, other: true, transparent: false } => {
                if self.other.is_some() {
                    return Err(Error::new(span, "only one variant can be `#[rpc(other)]`"));
                }
                let why = "an `#[rpc(other)]` variant holds a `sabir::ErrorObject`, and nothing else";
                lone_field(&variant, why)?;
                self.other = Some(variant.ident);
            }
            Options { code: None, message: None, other: false, transparent: true } => {
                let why =
                    "an `#[rpc(transparent)]` variant holds another error of a service, and nothing else";
                let type_ = lone_field(&variant, why)?;
                self.transparent.push((variant.ident, type_));
            }
            _ => {
                return Err(Error::new(
                    span,
                    "`other` and `transparent` stand alone: the error inside has the code",
                ));
            }
        }
        Ok(())
    }
}

fn lone_field(variant: &Variant, why: &str) -> Result<Type> {
    match &variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Ok(fields.unnamed[0].ty.clone()),
        _ => Err(Error::new(variant.ident.span(), why)),
    }
}

fn case(variant: Variant, code: i64, message: Option<String>) -> Result<Case> {
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

fn implementation(name: &Ident, cases: &Cases) -> TokenStream {
    let Cases { coded, transparent, other } = cases;
    let data_types = coded.iter().filter_map(|case| data_type(name, case));
    let to = coded.iter().map(|case| to_error(name, case));
    let to_inner = transparent
        .iter()
        .map(|(variant, _)| quote!(#name::#variant(error) => ::sabir::RpcError::to_error(error),));
    let to_other =
        other.iter().map(|variant| quote!(#name::#variant(error) => ::core::clone::Clone::clone(error),));
    let from = coded.iter().map(|case| from_error(name, case));
    let from_inner = transparent.iter().map(|(variant, type_)| {
        quote!(.or_else(|| <#type_ as ::sabir::RpcError>::from_error(error).map(#name::#variant)))
    });
    let from_other = other.iter().map(|variant| {
        quote!(.or_else(|| ::core::option::Option::Some(#name::#variant(::core::clone::Clone::clone(error)))))
    });
    let described = coded.iter().map(|case| describe(name, case));
    let inner = transparent.iter().map(|(_, type_)| type_);
    // Whatever `?` meets in a method of the service is the other error.
    let any_error = other.iter().map(|variant| {
        quote! {
            impl<__Error> ::core::convert::From<__Error> for #name
            where
                __Error: ::core::convert::Into<
                    ::std::boxed::Box<dyn ::core::error::Error + ::core::marker::Send + ::core::marker::Sync>,
                >,
            {
                fn from(error: __Error) -> Self {
                    #name::#variant(<::sabir::ErrorObject as ::core::convert::From<__Error>>::from(error))
                }
            }
        }
    });
    quote! {
        const _: () = {
            #(#data_types)*

            impl ::sabir::RpcError for #name {
                fn to_error(&self) -> ::sabir::ErrorObject {
                    match self { #(#to)* #(#to_inner)* #(#to_other)* }
                }

                fn from_error(error: &::sabir::ErrorObject) -> ::core::option::Option<Self> {
                    let known = match error.code.0 { #(#from)* _ => ::core::option::Option::None };
                    known #(#from_inner)* #(#from_other)*
                }

                fn describe(
                    generator: &mut ::sabir::private::schemars::SchemaGenerator,
                ) -> ::std::vec::Vec<::sabir::ErrorDescription> {
                    let mut all = ::std::vec![#(#described),*];
                    #(all.extend(<#inner as ::sabir::RpcError>::describe(generator));)*
                    all
                }
            }

            impl ::core::fmt::Display for #name {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    f.write_str(&::sabir::RpcError::to_error(self).message)
                }
            }

            impl ::core::convert::From<#name> for ::sabir::ErrorObject {
                fn from(error: #name) -> Self {
                    ::sabir::RpcError::to_error(&error)
                }
            }

            #(#any_error)*
        };
    }
}

/// The struct that the named fields of a variant travel in, which may hold a type of the user's that is called so
/// without the underscores.
fn data_name(name: &Ident, case: &Case) -> Ident {
    format_ident!("__{name}{}", case.name)
}

fn data_type(name: &Ident, case: &Case) -> Option<TokenStream> {
    let Shape::Named(fields) = &case.fields else { return None };
    let data = data_name(name, case);
    let title = format!("{name}{}", case.name);
    let fields = fields.iter().map(|(name, type_, attributes)| quote!(#(#attributes)* #name: #type_));
    Some(quote! {
        #[derive(
            ::sabir::private::serde::Deserialize,
            ::sabir::private::serde::Serialize,
            ::sabir::private::schemars::JsonSchema,
        )]
        #[serde(crate = "::sabir::private::serde")]
        #[schemars(crate = "::sabir::private::schemars", rename = #title)]
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
            // There are no variables here but those of the fields: their names are the user's.
            quote! {
                #name::#variant { #(#names),* } => ::sabir::ErrorObject::new(#code, #message)
                    .with_data(#data { #(#names: ::core::clone::Clone::clone(#names)),* }),
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
