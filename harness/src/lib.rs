//! wirefault: runs Plans against clients and holds the clients to account.
