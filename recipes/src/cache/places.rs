//! What a session knows about the paths that a cache follows: what is watched, and what must be looked at.

use super::event::{child, is_below};
use super::look::{Look, Part};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use vivarium_model::error::Error;
use vivarium_model::handle::Watch;
use vivarium_model::path;

/// The most looks under way.
const AT_ONCE: usize = 16;

/// The state of one part of a znode.
#[derive(Debug, Default)]
pub(super) enum State {
    /// The part is not followed.
    #[default]
    Unwanted,
    /// The part must be looked at, for the first time in this session.
    New,
    /// The part must be looked at again.
    Again,
    /// The part is unchanged since the look until this watch fires.
    Watched(Watch),
}

impl State {
    fn is_wanted(&self) -> bool {
        matches!(self, State::New | State::Again)
    }

    /// Marks the part to be looked at.
    pub(super) fn want(&mut self) {
        *self = match self {
            State::Unwanted | State::New => State::New,
            State::Again | State::Watched(_) => State::Again,
        };
    }

    pub(super) fn is_unwanted(&self) -> bool {
        matches!(self, State::Unwanted)
    }

    /// Stores the watch of a look.
    pub(super) fn looked_at(&mut self, watch: Option<Watch>) {
        *self = watch.map_or(State::Unwanted, State::Watched);
    }

    /// Checks whether the watch has fired, and marks the part to be looked at again if so.
    fn fires(&mut self, context: &mut Context<'_>) -> Result<bool, Error> {
        let State::Watched(watch) = self else { return Ok(false) };
        let Poll::Ready(event) = pin!(watch.changed()).poll(context) else { return Ok(false) };
        *self = State::Again;
        event.map(|_| true)
    }
}

/// A path: the root, or a path in its parent's list.
#[derive(Debug, Default)]
pub(super) struct Place {
    pub(super) data: State,
    pub(super) children: State,
}

impl Place {
    pub(super) fn part(&mut self, part: Part) -> &mut State {
        match part {
            Part::Data => &mut self.data,
            Part::Children => &mut self.children,
        }
    }

    fn parts(&self) -> [(Part, &State); 2] {
        [(Part::Data, &self.data), (Part::Children, &self.children)]
    }
}

/// All followed paths, parents before their children.
#[derive(Debug, Default)]
pub(super) struct Places(BTreeMap<Arc<str>, Place>);

impl Places {
    /// Creates the places with the root alone.
    pub(super) fn of(root: &Arc<str>, part: Part) -> Places {
        let mut place = Place::default();
        place.part(part).want();
        Places(BTreeMap::from([(Arc::clone(root), place)]))
    }

    pub(super) fn get_mut(&mut self, path: &str) -> Option<&mut Place> {
        self.0.get_mut(path)
    }

    /// Adds a child whose name was listed.
    pub(super) fn list(&mut self, parent: &str, name: &str) {
        let place = self.0.entry(child(parent, name)).or_default();
        if place.data.is_unwanted() {
            place.data.want();
        }
    }

    /// Removes all descendants of this path.
    pub(super) fn forget_below(&mut self, path: &str) {
        self.0.retain(|other, _| !is_below(path, other));
    }

    /// Removes this path and all its descendants.
    pub(super) fn forget(&mut self, path: &str) {
        self.0.remove(path);
        self.forget_below(path);
    }

    /// Returns the direct children of this path.
    pub(super) fn children(&self, parent: &str) -> impl Iterator<Item = &Arc<str>> {
        self.0.keys().filter(move |path| path::parent(path) == Some(parent))
    }

    /// Returns true if something has never been looked at in this session.
    pub(super) fn has_new(&self) -> bool {
        self.0.values().any(|place| place.parts().iter().any(|(_, it)| matches!(it, State::New)))
    }

    /// Returns true if this path or an ancestor must be read first, because what was found here may belong to a znode
    /// that has been deleted and recreated since (recipe rule 2.16.3).
    pub(super) fn is_uncertain(&self, path: &str, part: Part) -> bool {
        let wanted = |path: &str| self.0.get(path).is_some_and(|place| place.data.is_wanted());
        let mut above = match part {
            Part::Data => path::parent(path),
            Part::Children => Some(path),
        };
        while let Some(path) = above {
            if wanted(path) {
                return true;
            }
            above = path::parent(path);
        }
        false
    }

    /// Returns the looks to take now, ancestors first. New parts come before changed ones, so that a synchronisation
    /// does not wait for changes.
    pub(super) fn looks(&self, root: &str) -> Vec<Look> {
        let has_new = self.0.iter().any(|(path, place)| {
            let is_new = |(part, state): &(Part, &State)| {
                matches!(state, State::New) && !self.is_uncertain(path, *part)
            };
            place.parts().iter().any(is_new)
        });
        let all = self.0.iter().flat_map(|(path, place)| {
            place.parts().into_iter().map(move |(part, state)| (path, part, state))
        });
        let due = all.filter(|(path, part, state)| {
            let is_due = if has_new { matches!(state, State::New) } else { state.is_wanted() };
            is_due && !self.is_uncertain(path, *part)
        });
        let look = |(path, part, state): (&Arc<str>, Part, &State)| Look {
            path: Arc::clone(path),
            part,
            is_first_of_all: **path == *root && (part == Part::Data || !place_has_data(self, path)),
            is_again: matches!(state, State::Again),
        };
        due.take(AT_ONCE).map(look).collect()
    }

    /// Marks all lists of children to be looked at again.
    pub(super) fn want_children_again(&mut self) {
        for place in self.0.values_mut().filter(|place| !place.children.is_unwanted()) {
            place.children.want();
        }
    }

    /// Processes the watches that have fired already.
    ///
    /// # Errors
    /// Returns `SessionExpired` or `AuthFailed`: no watch will fire any more.
    pub(super) async fn notice(&mut self) -> Result<(), Error> {
        poll_fn(|context| Poll::Ready(self.fired(context).map(drop))).await
    }

    /// Waits until one of the watches fires.
    ///
    /// # Errors
    /// Fails like [`Places::notice`].
    pub(super) async fn changed(&mut self) -> Result<(), Error> {
        poll_fn(|context| match self.fired(context) {
            Ok(false) => Poll::Pending,
            Ok(true) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error)),
        })
        .await
    }

    fn fired(&mut self, context: &mut Context<'_>) -> Result<bool, Error> {
        let mut any = false;
        for place in self.0.values_mut() {
            any |= place.data.fires(context)?;
            any |= place.children.fires(context)?;
        }
        Ok(any)
    }

    /// Returns all watched parts.
    pub(super) fn watched(&mut self) -> impl Iterator<Item = (&Arc<str>, Part, &mut Watch)> {
        self.0.iter_mut().flat_map(|(path, Place { data, children })| {
            [(Part::Data, data), (Part::Children, children)].into_iter().filter_map(
                move |(part, state)| match state {
                    State::Watched(watch) => Some((path, part, watch)),
                    _ => None,
                },
            )
        })
    }
}

fn place_has_data(places: &Places, path: &str) -> bool {
    places.0.get(path).is_some_and(|place| !place.data.is_unwanted())
}
