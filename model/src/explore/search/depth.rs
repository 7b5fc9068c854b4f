//! Depth first.

use super::super::model::Model;
use super::shared::Shared;

/// Searches depth first.
pub(super) fn search<M: Model>(_shared: &Shared<'_, M>) {
    unimplemented!()
}
