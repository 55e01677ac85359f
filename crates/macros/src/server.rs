//! The trait itself, with what puts its methods into a router.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::attributes::named;
use crate::definition::{Argument, Kind, Method, Outcome, Service, Subscription};
use crate::params;

pub(crate) fn trait_(service: &Service) -> TokenStream {
    let Service { attributes, visibility, name, generics, supertraits, methods, .. } = service;
    let where_clause = &generics.where_clause;
    let signatures = methods.iter().map(signature);
    let add_to = add_to(service);
    quote! {
        #(#attributes)*
        #visibility trait #name #generics: #(#supertraits +)* ::core::marker::Send + ::core::marker::Sync + 'static
        #where_clause
        {
            #(#signatures)*

            /// Adds the methods of the service to a router.
            #[must_use]
            #add_to

            /// The service as a router.
            #[must_use]
            fn into_router(self) -> ::sabir::Router
            where
                Self: Sized,
            {
                self.add_to(::sabir::Router::new())
            }
        }
    }
}

/// The service behind an `Arc`, unless the trait asks for more than its methods.
pub(crate) fn shared(service: &Service) -> TokenStream {
    let Service { name, generics, supertraits, methods, .. } = service;
    if !generics.params.is_empty() || !supertraits.is_empty() {
        return TokenStream::new();
    }
    let methods = methods.iter().map(|method| {
        let conditions = named(&method.attributes, "cfg");
        let (method_name, arguments) = (&method.name, &method.arguments);
        let taken = arguments.iter().map(|Argument { name, type_, .. }| quote!(#name: #type_));
        let given = arguments.iter().map(|argument| &argument.name);
        let output = returned(method);
        quote! {
            #(#conditions)*
            fn #method_name(
                &self,
                #(#taken),*
            ) -> #output {
                <__Service as #name>::#method_name(&**self, #(#given),*)
            }
        }
    });
    quote! {
        #[allow(deprecated, clippy::too_many_arguments)]
        impl<__Service: #name> #name for ::std::sync::Arc<__Service> {
            #(#methods)*
        }
    }
}

/// What a method returns: a future, or a stream, that is known to be `Send`.
fn returned(method: &Method) -> TokenStream {
    let output = match &method.outcome {
        Outcome::Notification => quote!(()),
        Outcome::Result { whole, .. } => quote!(#whole),
        Outcome::Subscription(subscription) => {
            let item = items(subscription);
            return quote!(impl ::sabir::Stream<Item = #item> + ::core::marker::Send);
        }
    };
    quote!(impl ::core::future::Future<Output = #output> + ::core::marker::Send)
}

fn items(Subscription { item, fallible, .. }: &Subscription) -> TokenStream {
    if *fallible { quote!(::sabir::Result<#item>) } else { quote!(#item) }
}

/// An `async fn`, or one that returns a stream.
fn signature(method: &Method) -> TokenStream {
    let Method { attributes, name, arguments, body, .. } = method;
    let arguments = arguments.iter().map(|Argument { name, type_, .. }| quote!(#name: #type_));
    let output = returned(method);
    let end = match (body, &method.outcome) {
        (Some(body), Outcome::Subscription(_)) => quote!(#body),
        (Some(body), _) => quote!({ async move #body }),
        (None, _) => quote!(;),
    };
    quote! {
        #(#attributes)*
        fn #name(&self, #(#arguments),*) -> #output #end
    }
}

fn add_to(service: &Service) -> TokenStream {
    let title = service.name.to_string();
    let described = match service.doc.as_str() {
        "" => quote!(),
        doc => quote!(.description(#doc)),
    };
    let routes = service.methods.iter().map(|method| route(service, method));
    quote! {
        #[allow(deprecated)]
        fn add_to(self, router: ::sabir::Router) -> ::sabir::Router
        where
            Self: Sized,
        {
            let version = ::core::option_env!("CARGO_PKG_VERSION").unwrap_or("0.0.0");
            let router = router.info_or(::sabir::openrpc::Info::new(#title, version)#described);
            let service = ::std::sync::Arc::new(self);
            #(#routes)*
            router
        }
    }
}

/// Adds one method to the router.
fn route(service: &Service, method: &Method) -> TokenStream {
    let name = &method.name;
    let description = description(method);
    let params = params::type_(service, method);
    let arguments = method.arguments.iter().map(|argument| match &argument.kind {
        Kind::Ctx => quote!(::core::clone::Clone::clone(&__ctx)),
        Kind::Progress(_) => quote!(::sabir::Progress::from(::core::clone::Clone::clone(&__ctx))),
        Kind::Param(_) => {
            let name = &argument.name;
            quote!(__params.#name)
        }
    });
    let call = quote!(Self::#name(&service, #(#arguments),*));
    if let Outcome::Subscription(subscription) = &method.outcome {
        let style = style(method, subscription);
        let item = &subscription.item;
        let feed = format_ident!("{}", if subscription.fallible { "try_feed" } else { "feed" });
        return quote! {
            let router = {
                let service = ::std::sync::Arc::clone(&service);
                let style = #style;
                let description = #description.params::<#params>().subscription::<#item>(&style);
                let router = router.subscription_sink(
                    style,
                    move |__ctx: ::sabir::Ctx, __params: #params, __pending: ::sabir::PendingSink| {
                        let service = ::std::sync::Arc::clone(&service);
                        async move { ::sabir::private::#feed(#call, __pending).await }
                    },
                );
                router.describe(description)
            };
        };
    }
    let call = quote!(#call.await);
    let outcome = match &method.outcome {
        Outcome::Notification => quote!({
            #call;
            ::core::result::Result::Ok(())
        }),
        // Said of the error's type, where it is none of a service.
        Outcome::Result { error: Some(error), .. } => {
            let convert = quote_spanned!(error.span()=> <#error as ::sabir::RpcError>::to_error);
            quote!(#call.map_err(|error| #convert(&error)))
        }
        Outcome::Result { error: None, .. } | Outcome::Subscription(_) => {
            quote!(#call.map_err(::sabir::ErrorObject::from))
        }
    };
    quote! {
        let router = {
            let service = ::std::sync::Arc::clone(&service);
            router.method(#description, move |__ctx: ::sabir::Ctx, __params: #params| {
                let service = ::std::sync::Arc::clone(&service);
                async move { #outcome }
            })
        };
    }
}

/// How a method is subscribed to.
pub(crate) fn style(method: &Method, subscription: &Subscription) -> TokenStream {
    let (subscribe, Subscription { notification, unsubscribe, .. }) = (&method.wire_name, subscription);
    quote!(::sabir::SubscriptionStyle::notified(#subscribe, #notification, #unsubscribe))
}

fn description(method: &Method) -> TokenStream {
    let Method { wire_name, doc, deprecated, outcome, .. } = method;
    let doc = (!doc.is_empty()).then(|| quote!(.doc(#doc)));
    let deprecated = deprecated.then(|| quote!(.deprecated()));
    let outcome = match outcome {
        Outcome::Notification => quote!(.notification()),
        Outcome::Result { error: Some(error), .. } => quote!(.errors::<#error>()),
        Outcome::Result { error: None, .. } | Outcome::Subscription(_) => quote!(),
    };
    let progress = method.progress().map(|type_| quote!(.progress::<#type_>()));
    quote!(::sabir::describe(#wire_name)#doc #deprecated #outcome #progress)
}
