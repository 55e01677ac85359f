//! The trait itself, with what puts its methods into a router.

use proc_macro2::TokenStream;
use quote::quote;

use crate::attributes::named;
use crate::definition::{Argument, Kind, Method, Outcome, Service};
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
        let output = output(method);
        quote! {
            #(#conditions)*
            fn #method_name(
                &self,
                #(#taken),*
            ) -> impl ::core::future::Future<Output = #output> + ::core::marker::Send {
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

fn output(method: &Method) -> TokenStream {
    match &method.outcome {
        Outcome::Notification => quote!(()),
        Outcome::Result { whole, .. } => quote!(#whole),
    }
}

/// An `async fn` whose future is known to be `Send`.
fn signature(method: &Method) -> TokenStream {
    let Method { attributes, name, arguments, body, .. } = method;
    let arguments = arguments.iter().map(|Argument { name, type_, .. }| quote!(#name: #type_));
    let output = output(method);
    let end = match body {
        Some(body) => quote!({ async move #body }),
        None => quote!(;),
    };
    quote! {
        #(#attributes)*
        fn #name(&self, #(#arguments),*) -> impl ::core::future::Future<Output = #output> + ::core::marker::Send #end
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
    let call = quote!(Self::#name(&service, #(#arguments),*).await);
    let outcome = match &method.outcome {
        Outcome::Notification => quote!({
            #call;
            ::core::result::Result::Ok(())
        }),
        Outcome::Result { .. } => quote!(#call.map_err(::sabir::ErrorObject::from)),
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

fn description(method: &Method) -> TokenStream {
    let Method { wire_name, doc, deprecated, outcome, .. } = method;
    let doc = (!doc.is_empty()).then(|| quote!(.doc(#doc)));
    let deprecated = deprecated.then(|| quote!(.deprecated()));
    let outcome = match outcome {
        Outcome::Notification => quote!(.notification()),
        Outcome::Result { error: Some(error), .. } => quote!(.errors::<#error>()),
        Outcome::Result { error: None, .. } => quote!(),
    };
    let progress = method.progress().map(|type_| quote!(.progress::<#type_>()));
    quote!(::sabir::describe(#wire_name)#doc #deprecated #outcome #progress)
}
