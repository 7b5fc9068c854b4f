//! Patterns of the events that a monitor minds, each with the code that is run for a matching event.

use super::{Kinds, Objection, View};
use crate::vocabulary::event::Event;
use crate::vocabulary::observation::spaced;
use std::sync::Arc;

/// The events that `M` minds: a monitor, or a part that several monitors share. [`minds!`](crate::minds) makes it.
pub struct Minds<M: 'static> {
    all: &'static [Minded<M>],
    /// The kinds of all events that a pattern can match.
    kinds: Kinds,
}

/// One pattern of events, with the code that is run for a matching event.
#[doc(hidden)]
pub struct Minded<M: 'static> {
    /// The kinds of all events that the pattern can match.
    pub kinds: Kinds,
    pub matches: fn(&Event) -> bool,
    pub handle: fn(&mut M, View<'_>, &Event) -> Result<(), Objection>,
    pub order: Order<M>,
    /// Names of observations as the code writes them.
    pub needed: &'static [&'static str],
}

/// How an event's effect on the monitor depends on other clients' events before it.
#[doc(hidden)]
pub enum Order<M: 'static> {
    Matters,
    DoesNotMatter,
    /// The order matters if this function returns true for the present state.
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

    /// Returns the kinds of all events that a pattern can match.
    pub const fn kinds(self) -> Kinds {
        self.kinds
    }

    /// Returns true if a pattern matches this event.
    pub fn concerns(self, event: &Event) -> bool {
        self.matching(event).next().is_some()
    }

    /// Returns true if the order of this event among other clients' events matters to `of`, for at least one matching
    /// pattern.
    pub fn order(self, of: &M, event: &Event) -> bool {
        self.matching(event).any(|minded| match minded.order {
            Order::Matters => true,
            Order::DoesNotMatter => false,
            Order::MattersIf(matters) => matters(of, event),
        })
    }

    /// Runs the code of each matching pattern.
    ///
    /// # Errors
    /// The first objection; the code of later patterns is not run then.
    pub fn event(self, of: &mut M, view: View<'_>, event: &Event) -> Result<(), Objection> {
        self.matching(event).try_for_each(|minded| (minded.handle)(of, view, event))
    }

    /// Returns the names of the observations that the monitor needs: without any one of them it can never object.
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

/// A result of a pattern's code: nothing, or whether the monitor objects.
#[doc(hidden)]
pub trait Verdict {
    /// Converts the value into a result.
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

/// The events that a monitor minds ([`Minds`](crate::property::Minds)): patterns of events, each with the code that
/// is run for a matching event.
///
/// The macro begins with names for the monitor, the [`View`](crate::property::View) and the whole event, for use in
/// the code. The patterns follow:
///
/// | pattern | matches |
/// |---|---|
/// | `Event::Killed { client }` | events of a kind whose fields match |
/// | <code>Event::Killed { client } \| Event::Finished { client, .. }</code> | events of several kinds |
/// | `Committed(txn)` | commits. The code is run only when a commit is reported for the first time ([`Committed::is_new`](crate::property::Committed::is_new)) |
/// | `Observed(client, Seen::Granted { token, .. })` | an observation, or one of several |
/// | `Observed(client in session, Seen::Granted { token, .. })` | the same, with the session that the client had then, if any |
/// | `Observed(client, seen: Seen)` | any observation of a type |
/// | `let Some(x) = f(event)` | events for which the result of `f` matches |
/// | `_` | every event |
///
/// The code after `=>` returns nothing or a `Result<(), Objection>`. After a pattern with `if` and a condition, the
/// code is run only if the condition holds; the event concerns the monitor even if it does not. If several patterns
/// match an event, their code is run in this order until one objects. A pattern can be preceded by attributes:
///
/// * `#[needed]`, before an observation: the monitor can never object without it
///   ([`Monitor::looks_for`](crate::property::Monitor::looks_for)). If the observation's name differs from its
///   variant or struct, write `#[needed("its name")]`.
/// * `#[unordered]`: the event's effect on the monitor depends on no other client's events before it
///   ([`Monitor::minds_order`](crate::property::Monitor::minds_order)). `#[ordered_if(f)]`: it depends on them if
///   `f(&monitor, event)` returns true.
///
/// [`Declared`](crate::property::Declared) has an example.
#[macro_export]
macro_rules! minds {
    (|$this:ident, $view:ident, $event:ident| $($rest:tt)*) => {
        $crate::minds!(@next [$this $view $event] [] [] [Matters] $($rest)*)
    };

    // All patterns are done.
    (@next $names:tt [$($done:expr,)*] [] [Matters]) => {
        $crate::property::Minds::new(const { &[$($done),*] })
    };

    // Attributes before a pattern.
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

    // The names of the observations: the last segment of each path.
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

    // The forms of patterns: the kinds of events, a pattern, the value that it is matched against, and the code.
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

    // Makes both functions of one pattern: whether it matches, and what it runs.
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
