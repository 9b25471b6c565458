//! Outgoing transfers: pay an order once and never again.
