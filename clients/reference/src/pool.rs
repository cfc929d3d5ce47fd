//! Keeps connections: at most one for each origin.

use std::collections::BTreeMap;

use crate::connection::Connection;
use crate::defects::{Defect, Defects};
use crate::url::Origin;

/// Connections that wait for the next request.
#[derive(Default)]
pub(crate) struct Pool(BTreeMap<Origin, Connection>);

impl Pool {
    /// A kept connection on which the server has said nothing since: neither
    /// its end, which would make a request on it die, nor bytes, which would be
    /// taken for the next answer.
    pub(crate) fn take(&mut self, origin: &Origin, defects: &Defects) -> Option<Connection> {
        let connection = self.0.remove(origin)?;
        let trusted = defects.has(Defect::TrustsStaleConnections)
            || defects.has(Defect::ReusesPoisonedConnection);
        (trusted || connection.is_silent()).then_some(connection)
    }

    /// Keeps a connection.
    pub(crate) fn put(&mut self, origin: Origin, connection: Connection) {
        self.0.insert(origin, connection);
    }
}
