//! The typed client.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Ident;

use crate::attributes::named;
use crate::definition::{Kind, Method, Outcome, Service};
use crate::params;
use crate::server::style;

pub(crate) fn struct_(service: &Service) -> TokenStream {
    let Service { visibility, name, generics, methods, .. } = service;
    let client = format_ident!("{name}Client");
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let types = service.type_params();
    let about = format!("Calls the methods of [`{name}`] at a peer.");
    let title = client.to_string();
    let methods = methods.iter().map(|method| call(service, method));
    quote! {
        #[doc = #about]
        #[allow(dead_code, reason = "not everybody who serves also calls")]
        #visibility struct #client #generics #where_clause {
            peer: ::sabir::Peer,
            types: ::core::marker::PhantomData<fn() -> (#(#types,)*)>,
        }

        #[allow(dead_code, reason = "not everybody calls all that is there")]
        impl #impl_generics #client #type_generics #where_clause {
            /// A client of this peer.
            #visibility fn new(peer: ::sabir::Peer) -> Self {
                Self { peer, types: ::core::marker::PhantomData }
            }

            /// The peer.
            #visibility fn peer(&self) -> &::sabir::Peer {
                &self.peer
            }

            #(#methods)*
        }

        impl #impl_generics ::core::clone::Clone for #client #type_generics #where_clause {
            fn clone(&self) -> Self {
                Self::new(::core::clone::Clone::clone(&self.peer))
            }
        }

        impl #impl_generics ::core::fmt::Debug for #client #type_generics #where_clause {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_struct(#title).field("peer", &self.peer).finish()
            }
        }
    }
}

/// The client as the service: what calls it cannot tell whether it is here or elsewhere. Only where every error of the
/// service can hold whatever may happen to a call; and not where the trait asks for more than its methods, nor where it has
/// subscriptions: a stream of plain items has no place for what may happen to one.
pub(crate) fn implementation(service: &Service) -> TokenStream {
    let Service { name, generics, supertraits, methods, .. } = service;
    let subscribes = methods.iter().any(|method| matches!(method.outcome, Outcome::Subscription(_)));
    if !generics.params.is_empty() || !supertraits.is_empty() || subscribes {
        return TokenStream::new();
    }
    let client = format_ident!("{name}Client");
    // Bounds on types without parameters are checked at once, unless they seem to depend on a lifetime.
    let bounds = methods.iter().filter_map(|method| match &method.outcome {
        Outcome::Result { error: Some(error), .. } => {
            // Where the error is none of a service, the server's side says so, and this does not say it again.
            Some(quote!(for<'__a> #error: ::sabir::RpcError + ::core::convert::From<::sabir::CallError>))
        }
        _ => None,
    });
    let methods = methods.iter().map(|method| delegate(&client, method));
    quote! {
        #[allow(deprecated)]
        impl #name for #client
        where
            #(#bounds,)*
        {
            #(#methods)*
        }
    }
}

/// A method of the trait by that of the client.
fn delegate(client: &Ident, method: &Method) -> TokenStream {
    let Method { attributes, name, arguments, outcome, .. } = method;
    let conditions = named(attributes, "cfg");
    let taken = arguments.iter().map(|argument| {
        let (name, type_) = (&argument.name, &argument.type_);
        match argument.kind {
            Kind::Param(_) => quote!(#name: #type_),
            _ => quote!(_: #type_),
        }
    });
    let given = method.params().map(|(argument, _)| &argument.name);
    let call = quote!(#client::#name(self, #(#given),*).await);
    let (output, body) = match outcome {
        Outcome::Notification => (quote!(()), quote!(let _ = #call;)),
        Outcome::Result { whole, error: Some(_), .. } => {
            (quote!(#whole), quote!(#call.map_err(::sabir::private::service_error)))
        }
        Outcome::Result { whole, error: None, .. } => {
            (quote!(#whole), quote!(#call.map_err(::sabir::ErrorObject::from)))
        }
        Outcome::Subscription(_) => return TokenStream::new(),
    };
    quote! {
        #(#conditions)*
        async fn #name(&self, #(#taken),*) -> #output {
            #body
        }
    }
}

fn call(service: &Service, method: &Method) -> TokenStream {
    let visibility = &service.visibility;
    let Method { attributes, name, wire_name, outcome, .. } = method;
    let arguments = method.arguments.iter().filter_map(|argument| match argument.kind {
        Kind::Param(_) => {
            let (name, type_) = (&argument.name, &argument.type_);
            Some(quote!(#name: #type_))
        }
        _ => None,
    });
    let params = params::literal(service, method);
    // Attributes such as `cfg` and `deprecated` hold on both sides.
    let head = quote!(#(#attributes)* #[allow(clippy::too_many_arguments)] #visibility);
    match outcome {
        Outcome::Notification => quote! {
            #head async fn #name(&self, #(#arguments),*) -> ::core::result::Result<(), ::sabir::private::SendError> {
                self.peer.notify(#wire_name, #params).await
            }
        },
        Outcome::Subscription(subscription) => {
            let (item, style) = (&subscription.item, style(method, subscription));
            quote! {
                #head fn #name(&self, #(#arguments),*) -> ::sabir::Subscribe<#item> {
                    self.peer.subscribe(#style, #params)
                }
            }
        }
        Outcome::Result { ok, error, .. } => {
            let progress = method.progress().map(|type_| quote!(, #type_));
            let failure = match (error, &progress) {
                (Some(error), _) => quote!(, ::sabir::ServiceError<#error>),
                (None, Some(_)) => quote!(, ::sabir::CallError),
                (None, None) => quote!(),
            };
            quote! {
                #head fn #name(&self, #(#arguments),*) -> ::sabir::Call<#ok #failure #progress> {
                    ::sabir::private::call(&self.peer, #wire_name, &#params)
                }
            }
        }
    }
}
