//! What a trait says of a service, or why it can't be one.

use std::collections::HashSet;

use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{
    Attribute, Block, Error, Expr, FnArg, GenericArgument, GenericParam, Generics, Ident, Item, ItemTrait,
    LitStr, Pat, PatType, PathArguments, ReceiverKind, Result, ReturnType, Signature, TraitItem, TraitItemFn,
    Type, Visibility,
};

use crate::attributes::{doc, named, take_rpc, unknown};
use crate::names::NameCase;

/// What stands in the parentheses of `#[sabir::service(…)]`.
#[derive(Default)]
pub(crate) struct Options {
    prefix: String,
    name_case: NameCase,
}

impl Options {
    pub(crate) fn parse(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if meta.path.is_ident("prefix") {
            self.prefix = meta.value()?.parse::<LitStr>()?.value();
        } else if meta.path.is_ident("rename_all") {
            self.name_case = NameCase::parse(&meta.value()?.parse()?)?;
        } else {
            return Err(unknown(meta, "`prefix` or `rename_all`"));
        }
        Ok(())
    }
}

pub(crate) struct Service {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) doc: String,
    pub(crate) visibility: Visibility,
    pub(crate) name: Ident,
    /// Type parameters only.
    pub(crate) generics: Generics,
    pub(crate) supertraits: Vec<syn::TypeParamBound>,
    pub(crate) methods: Vec<Method>,
}

pub(crate) struct Method {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) doc: String,
    pub(crate) deprecated: bool,
    pub(crate) name: Ident,
    pub(crate) wire_name: String,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) outcome: Outcome,
    /// What it does unless an implementor says otherwise.
    pub(crate) body: Option<Block>,
}

pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) type_: Type,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Ctx,
    /// The type of the progress.
    Progress(Box<Type>),
    Param(Box<Param>),
}

pub(crate) struct Param {
    pub(crate) wire_name: String,
    /// Doc comments, and what is for serde and schemars.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) optional: bool,
    pub(crate) default: Default_,
}

pub(crate) enum Default_ {
    None,
    Trait,
    Value(Expr),
}

pub(crate) enum Outcome {
    Notification,
    /// A stream of items that are subscribed to.
    Subscription(Box<Subscription>),
    Result {
        /// As it was written.
        whole: Box<Type>,
        ok: Box<Type>,
        /// `None` stands for any error.
        error: Option<Box<Type>>,
    },
}

/// What is subscribed to, and by which methods.
pub(crate) struct Subscription {
    pub(crate) item: Type,
    /// Whether the items are results.
    pub(crate) fallible: bool,
    pub(crate) notification: String,
    pub(crate) unsubscribe: String,
}

impl Service {
    pub(crate) fn new(item: Item, options: &Options) -> Result<Service> {
        let Item::Trait(item) = item else {
            return Err(Error::new(item.span(), "`#[sabir::service]` can only be used on a trait"));
        };
        check_generics(&item)?;
        let mut methods = Vec::new();
        for entry in item.items {
            methods.push(Method::new(entry, options)?);
        }
        let mut names = HashSet::new();
        for method in &methods {
            if !names.insert(&method.wire_name) {
                return Err(Error::new(
                    method.name.span(),
                    format_args!("there are two methods called `{}`", method.wire_name),
                ));
            }
        }
        Ok(Service {
            doc: doc(&item.attrs),
            attributes: item.attrs,
            visibility: item.vis,
            name: item.ident,
            generics: item.generics,
            supertraits: item.supertraits.into_iter().collect(),
            methods,
        })
    }

    pub(crate) fn type_params(&self) -> Vec<&Ident> {
        self.generics.type_params().map(|param| &param.ident).collect()
    }
}

fn check_generics(item: &ItemTrait) -> Result<()> {
    for param in &item.generics.params {
        let (span, what) = match param {
            GenericParam::Type(_) => continue,
            GenericParam::Lifetime(param) => (param.span(), "lifetime"),
            GenericParam::Const(param) => (param.span(), "constant"),
        };
        let why = format!("a service cannot have this {what}: only type parameters are supported");
        return Err(Error::new(span, why));
    }
    Ok(())
}

impl Method {
    fn new(entry: TraitItem, options: &Options) -> Result<Method> {
        let TraitItemFn { mut attrs, sig, default, .. } = match entry {
            TraitItem::Fn(function) => function,
            TraitItem::Type(entry) => {
                let why = "a service has no associated types: make it a type parameter of the trait";
                return Err(Error::new(entry.span(), why));
            }
            other => return Err(Error::new(other.span(), "a service trait can contain only methods")),
        };
        check_signature(&sig)?;
        let plain = sig.ident.unraw().to_string();
        let mut name = options.name_case.spell(&plain);
        let mut renamed = None;
        take_rpc(&mut attrs, |meta| {
            if !meta.path.is_ident("name") {
                return Err(unknown(meta, "`name`"));
            }
            renamed = Some(meta.value()?.parse::<LitStr>()?.value());
            Ok(())
        })?;
        let mut outcome = Outcome::new(&sig)?;
        if let Some(renamed) = &renamed {
            name.clone_from(renamed);
        }
        if let Outcome::Subscription(subscription) = &mut outcome {
            let base = renamed.unwrap_or(plain);
            let spell = |verb: &str| options.name_case.spell(&format!("{verb}_{base}"));
            subscription.notification = format!("{}{name}", options.prefix);
            subscription.unsubscribe = format!("{}{}", options.prefix, spell("unsubscribe"));
            name = spell("subscribe");
        }
        let wire_name = format!("{}{name}", options.prefix);
        if wire_name.starts_with("rpc.") {
            return Err(Error::new(
                sig.ident.span(),
                "names that begin with `rpc.` are reserved by the specification",
            ));
        }
        let arguments = sig
            .inputs
            .into_iter()
            .skip(1)
            .map(|input| Argument::new(input, options))
            .collect::<Result<Vec<_>>>()?;
        check_progress(&arguments, &outcome)?;
        let deprecated = named(&attrs, "deprecated").next().is_some();
        Ok(Method {
            doc: doc(&attrs),
            deprecated,
            attributes: attrs,
            name: sig.ident,
            wire_name,
            arguments,
            outcome,
            body: default,
        })
    }

    pub(crate) fn params(&self) -> impl Iterator<Item = (&Argument, &Param)> {
        self.arguments.iter().filter_map(|argument| match &argument.kind {
            Kind::Param(param) => Some((argument, &**param)),
            _ => None,
        })
    }

    pub(crate) fn progress(&self) -> Option<&Type> {
        self.arguments.iter().find_map(|argument| match &argument.kind {
            Kind::Progress(type_) => Some(&**type_),
            _ => None,
        })
    }
}

fn check_signature(sig: &Signature) -> Result<()> {
    if let Some(param) = sig.generics.params.first() {
        let why = "a method of a service cannot be generic: its name on the wire stands for one method; \
                   make it a type parameter of the trait";
        return Err(Error::new(param.span(), why));
    }
    check_async(sig)?;
    let taken_by = match sig.ident.to_string().as_str() {
        "add_to" | "into_router" => Some("service"),
        "new" | "peer" | "clone" => Some("client"),
        _ => None,
    };
    if let Some(taken_by) = taken_by {
        let why = format!(
            "the {taken_by} itself has a method `{0}`: use another name, and `#[rpc(name = \"{0}\")]`",
            sig.ident
        );
        return Err(Error::new(sig.ident.span(), why));
    }
    match sig.inputs.first() {
        Some(FnArg::Receiver(receiver)) if matches!(receiver.kind, ReceiverKind::Reference(_, _, None)) => {
            Ok(())
        }
        Some(FnArg::Receiver(receiver)) => Err(Error::new(
            receiver.span(),
            "methods of a service run side by side and take `&self`: keep what changes in a `Mutex`",
        )),
        _ => Err(Error::new(sig.ident.span(), "methods of a service take `&self`")),
    }
}

/// A method that answers is async; a subscription returns its stream at once.
fn check_async(sig: &Signature) -> Result<()> {
    let ReturnType::Type(_, type_) = &sig.output else {
        return match sig.asyncness {
            Some(_) => Ok(()),
            None => Err(not_async(sig)),
        };
    };
    match (&sig.asyncness, impl_trait(type_)) {
        (Some(_), None) => Ok(()),
        (None, None) => Err(not_async(sig)),
        (None, Some(_)) if stream_item(type_).is_some() => Ok(()),
        (_, Some(inside)) => Err(Error::new(
            inside.span(),
            format_args!(
                "a method cannot return this: a subscription is `fn {}(…) -> impl Stream<Item = T>`, without `async`; \
                 items that may fail are `sabir::Result<T>`",
                sig.ident
            ),
        )),
    }
}

fn not_async(sig: &Signature) -> Error {
    Error::new(sig.fn_token.span(), "methods of a service are async: write `async fn`")
}

fn check_progress(arguments: &[Argument], outcome: &Outcome) -> Result<()> {
    let mut told = arguments.iter().filter(|argument| matches!(argument.kind, Kind::Progress(_)));
    match (told.next(), told.next(), outcome) {
        (_, Some(second), _) => Err(Error::new(second.name.span(), "a method can have only one `Progress`")),
        (Some(first), None, Outcome::Subscription(_)) => {
            Err(Error::new(first.name.span(), "a subscription cannot report progress"))
        }
        (Some(first), None, Outcome::Notification) => {
            Err(Error::new(first.name.span(), "a notification cannot report progress: return a result"))
        }
        _ => Ok(()),
    }
}

impl Argument {
    fn new(input: FnArg, options: &Options) -> Result<Argument> {
        let FnArg::Typed(PatType { mut attrs, pat, ty, .. }) = input else {
            return Err(Error::new(input.span(), "expected an argument"));
        };
        let name = match *pat {
            Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => pat.ident,
            other => {
                return Err(Error::new(
                    other.span(),
                    "an argument is a plain name: it is the name of the param",
                ));
            }
        };
        check_type(&ty)?;
        let (type_name, types) = outline(&ty);
        let kind = match (type_name.as_str(), types.as_slice()) {
            ("Ctx", []) => Kind::Ctx,
            ("Progress", [told]) => Kind::Progress(Box::new((*told).clone())),
            _ => Kind::Param(Box::new(Param::new(&name, &ty, &mut attrs, options)?)),
        };
        Ok(Argument { name, type_: *ty, kind })
    }
}

fn check_type(type_: &Type) -> Result<()> {
    match type_ {
        Type::Reference(_) => Err(Error::new(
            type_.span(),
            "arguments are read from a message: take an owned type, such as `String` for `&str`",
        )),
        Type::ImplTrait(_) => Err(Error::new(
            type_.span(),
            "arguments have one type: `impl Trait` cannot be read from a message",
        )),
        _ => Ok(()),
    }
}

impl Param {
    fn new(name: &Ident, type_: &Type, attributes: &mut Vec<Attribute>, options: &Options) -> Result<Param> {
        let unraw = name.unraw().to_string();
        let mut wire_name = options.name_case.spell(unraw.trim_start_matches('_'));
        let mut default = Default_::None;
        take_rpc(attributes, |meta| {
            if meta.path.is_ident("name") {
                wire_name = meta.value()?.parse::<LitStr>()?.value();
            } else if meta.path.is_ident("default") {
                default = match meta.input.peek(syn::Token![=]) {
                    true => Default_::Value(meta.value()?.parse()?),
                    false => Default_::Trait,
                };
            } else {
                return Err(unknown(meta, "`name` or `default`"));
            }
            Ok(())
        })?;
        let optional = outline(type_).0 == "Option";
        Ok(Param { wire_name, attributes: std::mem::take(attributes), optional, default })
    }
}

impl Outcome {
    fn new(sig: &Signature) -> Result<Outcome> {
        let ReturnType::Type(_, type_) = &sig.output else { return Ok(Outcome::Notification) };
        if let Some(item) = stream_item(type_) {
            let (name, types) = outline(item);
            let fallible = name == "Result";
            if let (true, Some(error)) = (fallible, types.get(1))
                && outline(error).0 != "ErrorObject"
            {
                return Err(Error::new(
                    error.span(),
                    "the errors of items have no type of their own: items that may fail are `sabir::Result<T>`",
                ));
            }
            let item = types.first().filter(|_| fallible).copied().unwrap_or(item).clone();
            let (notification, unsubscribe) = Default::default();
            let subscription = Subscription { item, fallible, notification, unsubscribe };
            return Ok(Outcome::Subscription(Box::new(subscription)));
        }
        let result = |ok: &Type, error: Option<&Type>| Outcome::Result {
            whole: type_.clone(),
            ok: Box::new(ok.clone()),
            error: error.map(|error| Box::new(error.clone())),
        };
        let (name, types) = outline(type_);
        match (name.as_str(), types.as_slice()) {
            ("Result", [ok]) => Ok(result(ok, None)),
            ("Result", [ok, error]) => Ok(result(ok, Some(error))),
            _ => Err(Error::new(
                type_.span(),
                "a method returns `sabir::Result<T>`, or `Result<T, E>` with an error that derives \
                 `sabir::RpcError`; one that returns nothing is a notification",
            )),
        }
    }
}

/// The `impl Trait` that a type is, or has in its angle brackets.
fn impl_trait(type_: &Type) -> Option<&Type> {
    match type_ {
        Type::ImplTrait(_) => Some(type_),
        _ => outline(type_).1.into_iter().find_map(impl_trait),
    }
}

/// The items of `impl Stream<Item = T>`.
fn stream_item(type_: &Type) -> Option<&Type> {
    let Type::ImplTrait(impl_) = type_ else { return None };
    impl_.bounds.iter().find_map(|bound| {
        let syn::TypeParamBound::Trait(bound) = bound else { return None };
        let segment = bound.path.segments.last().filter(|segment| segment.ident == "Stream")?;
        let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
        arguments.args.iter().find_map(|argument| match argument {
            GenericArgument::AssocType(assoc) if assoc.ident == "Item" => Some(&assoc.ty),
            _ => None,
        })
    })
}

/// The name of a type without its path, and the types that stand in its angle brackets.
pub(crate) fn outline(type_: &Type) -> (String, Vec<&Type>) {
    let Type::Path(path) = type_ else { return Default::default() };
    let Some(segment) = path.path.segments.last() else { return Default::default() };
    let types = match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => {
            arguments.args.iter().filter_map(|argument| match argument {
                GenericArgument::Type(type_) => Some(type_),
                _ => None,
            })
        }
        _ => return (segment.ident.to_string(), Vec::new()),
    };
    (segment.ident.to_string(), types.collect())
}
