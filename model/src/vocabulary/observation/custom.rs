//! An observation without a type of its own, for quick tests.

use super::{Observation, Record, Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A name and fields, as passed to [`ZooKeeper::custom`](crate::program::handle::ZooKeeper::custom).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Custom {
    /// The observation's name.
    pub name: Arc<str>,
    /// Its fields, by name.
    pub fields: Vec<(Arc<str>, Value)>,
}

impl Custom {
    /// Returns an observation with this name and these fields.
    pub fn new(name: &str, fields: &[(&str, Value)]) -> Custom {
        let fields = fields.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect();
        Custom { name: Arc::from(name), fields }
    }
}

/// Its names are known only at run time, and are used unchanged.
impl Observation for Custom {
    fn name(&self) -> String {
        self.name.to_string()
    }

    fn record(&self) -> Result<Record, String> {
        Ok(Record { name: Arc::clone(&self.name), fields: self.fields.clone() })
    }
}
