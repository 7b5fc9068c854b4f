//! What a monitor minds: patterns of events, each with the code that is run for an event that it matches.

use super::{Kinds, Objection, View};
use crate::vocabulary::event::Event;
use crate::vocabulary::observation::spaced;
use std::sync::Arc;

/// What `M` minds, a monitor or a part of one that several share. Made by [`minds!`](crate::minds).
pub struct Minds<M: 'static> {
    all: &'static [Minded<M>],
    /// The kinds of all events that a pattern can match.
    kinds: Kinds,
}

/// One pattern of events, with the code that is run for an event that it matches.
#[doc(hidden)]
pub struct Minded<M: 'static> {
    /// The kinds of all events that the pattern can match.
    pub kinds: Kinds,
    pub matches: fn(&Event) -> bool,
    pub handle: fn(&mut M, View<'_>, &Event) -> Result<(), Objection>,
    pub order: Order<M>,
    /// Names of observations, as the code writes them.
    pub needed: &'static [&'static str],
}

/// Whether what is made of an event depends on other clients' events before it.
#[doc(hidden)]
pub enum Order<M: 'static> {
    Matters,
    DoesNotMatter,
    /// It does if this says so of the present state.
    MattersIf(fn(&M, &Event) -> bool),
}

impl<M> Clone for Minds<M> {
    fn clone(&self) -> Minds<M> {
        *self
    }
}

impl<M> Copy for Minds<M> {}

impl<M> Minds<M> {
    #[doc(hidden)]
    pub const fn new(all: &'static [Minded<M>]) -> Minds<M> {
        let mut kinds = Kinds::NONE;
        let mut at = 0;
        while at < all.len() {
            kinds = kinds.and(all[at].kinds);
            at += 1;
        }
        Minds { all, kinds }
    }

    /// The kinds of all events that a pattern can match.
    pub const fn kinds(self) -> Kinds {
        self.kinds
    }

    /// Whether a pattern matches this event.
    pub fn concerns(self, event: &Event) -> bool {
        self.matching(event).next().is_some()
    }

    /// Whether for one that matches, the order of this event among other clients' events matters to `of`.
    pub fn order(self, of: &M, event: &Event) -> bool {
        self.matching(event).any(|minded| match minded.order {
            Order::Matters => true,
            Order::DoesNotMatter => false,
            Order::MattersIf(matters) => matters(of, event),
        })
    }

    /// Runs the code of each pattern that matches.
    ///
    /// # Errors
    /// The first objection; the code of later patterns is not run then.
    pub fn event(self, of: &mut M, view: View<'_>, event: &Event) -> Result<(), Objection> {
        self.matching(event).try_for_each(|minded| (minded.handle)(of, view, event))
    }

    /// Names of the observations without each of which it can never object.
    pub fn looks_for(self) -> Vec<Arc<str>> {
        let needed = self.all.iter().flat_map(|minded| minded.needed);
        needed.map(|name| spaced(name).into()).collect()
    }

    fn matching(self, event: &Event) -> impl Iterator<Item = &'static Minded<M>> {
        let kind = event.kind();
        let all = if self.kinds.contains(kind) { self.all } else { &[] };
        all.iter().filter(move |minded| minded.kinds.contains(kind) && (minded.matches)(event))
    }
}

/// What the code of a pattern can return: nothing, or whether it objects.
#[doc(hidden)]
pub trait Verdict {
    /// It as a result.
    ///
    /// # Errors
    /// The objection.
    fn verdict(self) -> Result<(), Objection>;
}

impl Verdict for () {
    fn verdict(self) -> Result<(), Objection> {
        Ok(())
    }
}

impl Verdict for Result<(), Objection> {
    fn verdict(self) -> Result<(), Objection> {
        self
    }
}

/// What a monitor minds ([`Minds`](crate::property::Minds)): patterns of events, each with the code that is run for an
/// event that it matches.
///
/// First come names for the monitor, the [`View`](crate::property::View) and the whole event, for use in the code. Then
/// follow patterns:
///
/// | pattern | matches |
/// |---|---|
/// | `Event::Killed { client }` | events of a kind; with a pattern for what is inside, those that it matches |
/// | <code>Event::Killed { client } \| Event::Finished { client, .. }</code> | events of several kinds |
/// | `Committed(txn)` | commits. The code is run only when a commit is reported for the first time ([`Committed::is_new`](crate::property::Committed::is_new)) |
/// | `Observed(client, Seen::Granted { token, .. })` | an observation, or one of several |
/// | `Observed(client in session, Seen::Granted { token, .. })` | the same, with the session that the client had then, if any |
/// | `Observed(client, seen: Seen)` | any observation of a type |
/// | `let Some(x) = f(event)` | events of which `f` makes something |
/// | `_` | every event |
///
/// The code after `=>` returns nothing, or a `Result<(), Objection>`. With `if` and a condition behind the pattern it is
/// run only where the condition holds; the monitor is concerned with the event all the same. If several patterns match an event, the code of
/// each is run, in this order, until one objects. Before a pattern can stand:
///
/// * `#[needed]`, before an observation: the monitor can never object without it
///   ([`Monitor::looks_for`](crate::property::Monitor::looks_for)). If the observation has another name than its variant
///   or struct, `#[needed("its name")]`.
/// * `#[unordered]`: what the monitor makes of the event depends on no other clients' events before it
///   ([`Monitor::minds_order`](crate::property::Monitor::minds_order)). `#[ordered_if(f)]`: it does if
///   `f(&monitor, event)` says so.
///
/// [`Declared`](crate::property::Declared) has an example.
#[macro_export]
macro_rules! minds {
    (|$this:ident, $view:ident, $event:ident| $($rest:tt)*) => {
        $crate::minds!(@next [$this $view $event] [] [] [Matters] $($rest)*)
    };

    // All are done.
    (@next $names:tt [$($done:expr,)*] [] [Matters]) => {
        $crate::property::Minds::new(const { &[$($done),*] })
    };

    // What stands before a pattern.
    (@next $names:tt $done:tt $needed:tt $order:tt #[needed] Observed($($seen:tt)*) $($rest:tt)*) => {
        $crate::minds!(@needed $names $done [] $order [$($seen)*] Observed($($seen)*) $($rest)*)
    };
    (@next $names:tt $done:tt $needed:tt $order:tt #[needed] #[$mark:ident $($of:tt)*] $($rest:tt)*) => {
        $crate::minds!(@next $names $done $needed $order #[$mark $($of)*] #[needed] $($rest)*)
    };
    (@next $names:tt $done:tt [$($needed:tt)*] $order:tt #[needed($name:literal)] $($rest:tt)*) => {
        $crate::minds!(@next $names $done [$($needed)* $name,] $order $($rest)*)
    };
    (@next $names:tt $done:tt $needed:tt $order:tt #[unordered] $($rest:tt)*) => {
        $crate::minds!(@next $names $done $needed [DoesNotMatter] $($rest)*)
    };
    (@next $names:tt $done:tt $needed:tt $order:tt #[ordered_if($if:expr)] $($rest:tt)*) => {
        $crate::minds!(@next $names $done $needed [MattersIf($if)] $($rest)*)
    };

    // The names of the observations: the last word of each path.
    (@needed $names:tt $done:tt $needed:tt $order:tt [$client:tt in $session:tt, $($seen:tt)*] $($rest:tt)*) => {
        $crate::minds!(@needed $names $done $needed $order [$client, $($seen)*] $($rest)*)
    };
    (@needed $names:tt $done:tt $needed:tt $order:tt [$client:tt, $seen:ident : $($type:tt)*] $($rest:tt)*) => {
        $crate::minds!(@needed $names $done $needed $order [$($type)*] $($rest)*)
    };
    (@needed $names:tt $done:tt $needed:tt $order:tt [$client:tt, $($seen:tt)*] $($rest:tt)*) => {
        $crate::minds!(@needed $names $done $needed $order [$($seen)*] $($rest)*)
    };
    (@needed $names:tt $done:tt $needed:tt $order:tt [$seen:ident @ $($pattern:tt)*] $($rest:tt)*) => {
        $crate::minds!(@needed $names $done $needed $order [$($pattern)*] $($rest)*)
    };
    (@needed $names:tt $done:tt $needed:tt $order:tt [$type:ident :: $($seen:tt)*] $($rest:tt)*) => {
        $crate::minds!(@needed $names $done $needed $order [$($seen)*] $($rest)*)
    };
    (@needed $names:tt $done:tt [$($needed:tt)*] $order:tt
        [$name:ident $({ $($fields:tt)* })? $(( $($values:tt)* ))? $(| $($seen:tt)+)?] $($rest:tt)*) => {
        $crate::minds!(@needed $names $done [$($needed)* stringify!($name),] $order [$($($seen)+)?] $($rest)*)
    };
    (@needed $names:tt $done:tt $needed:tt $order:tt [] $($rest:tt)*) => {
        $crate::minds!(@next $names $done $needed $order $($rest)*)
    };

    // The patterns: kinds of events, a pattern, what it is matched against, and the code.
    (@next $names:tt $done:tt $needed:tt $order:tt
        Observed($client:tt, $seen:ident : $type:ty) $(if $guard:expr)? => $code:expr $(, $($rest:tt)*)?) => {
        $crate::minds!(@one $names $done $needed $order [Observed] [Some(($client, $seen))] [observed::<$type>()]
            [$crate::minds!(@guarded [$($guard)?] $code)] $($($rest)*)?)
    };
    (@next $names:tt $done:tt $needed:tt $order:tt
        Observed($client:tt in $session:tt, $seen:ident : $type:ty) $(if $guard:expr)? => $code:expr $(, $($rest:tt)*)?) => {
        $crate::minds!(@one $names $done $needed $order [Observed] [Some(($client, $session, $seen))]
            [observed_in::<$type>()] [$crate::minds!(@guarded [$($guard)?] $code)] $($($rest)*)?)
    };
    (@next $names:tt $done:tt $needed:tt $order:tt
        Observed($client:tt in $session:tt, $seen:pat) $(if $guard:expr)? => $code:expr $(, $($rest:tt)*)?) => {
        $crate::minds!(@one $names $done $needed $order [Observed] [Some(($client, $session, $seen))]
            [observed_in()] [$crate::minds!(@guarded [$($guard)?] $code)] $($($rest)*)?)
    };
    (@next $names:tt $done:tt $needed:tt $order:tt
        Observed($client:tt, $seen:pat) $(if $guard:expr)? => $code:expr $(, $($rest:tt)*)?) => {
        $crate::minds!(@one $names $done $needed $order [Observed] [Some(($client, $seen))] [observed()]
            [$crate::minds!(@guarded [$($guard)?] $code)] $($($rest)*)?)
    };
    (@next [$this:ident $view:ident $event:ident] $done:tt $needed:tt $order:tt
        Committed($txn:ident) $(if $guard:expr)? => $code:expr $(, $($rest:tt)*)?) => {
        $crate::minds!(@one [$this $view $event] $done $needed $order [Committed]
            [$crate::event::Event::Committed { txn: $txn, .. }] []
            [$crate::minds!(@guarded [$view.history.is_new($txn) $(&& $guard)?] $code)] $($($rest)*)?)
    };
    (@next $names:tt $done:tt $needed:tt $order:tt
        $($events:ident::$kind:ident { $($fields:tt)* })|+ $(if $guard:expr)? => $code:expr $(, $($rest:tt)*)?) => {
        $crate::minds!(@one $names $done $needed $order [$($kind)+]
            [$($events::$kind { $($fields)* })|+] [] [$crate::minds!(@guarded [$($guard)?] $code)] $($($rest)*)?)
    };
    (@next $names:tt $done:tt $needed:tt $order:tt
        let $pattern:pat = $of:expr => $code:expr $(, $($rest:tt)*)?) => {
        $crate::minds!(@one $names $done $needed $order [] [$pattern] [= $of] [$code] $($($rest)*)?)
    };
    (@next $names:tt $done:tt $needed:tt $order:tt _ => $code:expr $(, $($rest:tt)*)?) => {
        $crate::minds!(@one $names $done $needed $order [] [_] [] [$code] $($($rest)*)?)
    };

    // One pattern, for both: whether it matches, and what is done then.
    (@one [$this:ident $view:ident $event:ident] [$($done:expr,)*] [$($needed:expr,)*] [$order:ident $($if:tt)*]
        $kinds:tt [$($pattern:tt)*] $read:tt [$code:expr] $($rest:tt)*) => {
        $crate::minds!(@next [$this $view $event] [$($done,)* $crate::property::Minded {
            kinds: $crate::minds!(@kinds $kinds),
            matches: |$event: &$crate::event::Event| {
                #[allow(unused_variables, irrefutable_let_patterns)]
                let matches = if let $($pattern)* = $crate::minds!(@read $event $read) { true } else { false };
                matches
            },
            handle: |$this: &mut Self, $view: $crate::property::View<'_>, $event: &$crate::event::Event| {
                let _ = (&$this, &$view, &$event);
                #[allow(irrefutable_let_patterns)]
                if let $($pattern)* = $crate::minds!(@read $event $read) {
                    $crate::property::Verdict::verdict($code)
                } else {
                    Ok(())
                }
            },
            order: $crate::property::Order::$order $($if)*,
            needed: &[$($needed),*],
        },] [] [Matters] $($rest)*)
    };
    (@guarded [] $code:expr) => { $code };
    (@guarded [$guard:expr] $code:expr) => {
        if $guard { $crate::property::Verdict::verdict($code) } else { Ok(()) }
    };
    (@kinds []) => { $crate::property::Kinds::ALL };
    (@kinds [$($kind:ident)+]) => {
        $crate::property::Kinds::of(&[$($crate::property::EventKind::$kind),+])
    };
    (@read $event:ident []) => { $event };
    (@read $event:ident [= $of:expr]) => { $of };
    (@read $event:ident [$($call:tt)+]) => { $event.$($call)+ };
}
