//! Everything that speaks to Stripe: signatures, the API client, the real CLI as a child.
