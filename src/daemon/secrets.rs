//! The signing secrets in use: several during a rotation, and more may come while the daemon runs.

use std::sync::{Arc, RwLock};

use secrecy::SecretString;

use crate::stripe::signature::{Refused, Secret, verify};

/// Shared between the receiver, the screen (where one may be pasted) and the listening child.
#[derive(Debug, Clone, Default)]
pub struct Secrets(Arc<RwLock<Vec<Secret>>>);

impl Secrets {
    /// Adds one. `Err` says why it cannot be a secret.
    pub fn add(&self, text: &SecretString) -> Result<(), &'static str> {
        let secret = Secret::new(text)?;
        self.0.write().map_err(|_| "the secrets are not accessible: restart")?.push(secret);
        Ok(())
    }

    /// Whether there is none yet.
    pub fn is_empty(&self) -> bool {
        self.0.read().map_or(true, |secrets| secrets.is_empty())
    }

    /// Checks a delivery. `now` is unix seconds.
    pub fn verify(&self, header: Option<&str>, body: &[u8], now: i64) -> Result<(), Refused> {
        match self.0.read() {
            Ok(secrets) => verify(&secrets, header, body, now),
            Err(_) => Err(Refused::NoSecret),
        }
    }
}
