//! Transfers: read by group and create, the two calls that guarded transfers stand on (Stripe: Transfers).

use serde::Deserialize;

use super::answer::Answer;
use super::client::Client;
use super::error::ApiError;
use super::paging::Start;
use crate::domain::owner::Owner;

/// A transfer as Stripe has it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Transfer {
    /// `tr_…`.
    pub id: String,
    /// Minor units.
    pub amount: i64,
    /// Minor units taken back so far.
    #[serde(default)]
    pub amount_reversed: i64,
    /// Lower-case code.
    pub currency: String,
    /// Unix seconds.
    pub created: i64,
    /// The connected account, `acct_…`; absent for some old transfers.
    #[serde(default, deserialize_with = "id_of")]
    pub destination: Option<String>,
    /// Whether it is live.
    pub livemode: bool,
    /// Wholly reversed.
    #[serde(default)]
    pub reversed: bool,
    /// The group it was made with.
    pub transfer_group: Option<String>,
}

/// What a new transfer needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTransfer {
    /// Minor units, greater than zero.
    pub amount: i64,
    /// Lower-case code.
    pub currency: String,
    /// `acct_…`.
    pub destination: String,
    /// The order: Stripe's record that the lookup finds.
    pub transfer_group: String,
    /// The charge that funds it.
    pub source_transaction: Option<String>,
    /// Free text.
    pub description: Option<String>,
}

impl Client {
    /// Every transfer of one group, newest first, all pages.
    pub async fn transfers_in_group(&self, group: &str) -> Result<Vec<Transfer>, ApiError> {
        let platform = Owner::platform();
        let walk = self.walk(&platform, "/v1/transfers", &[("transfer_group", group)], Start::Newest);
        let raw = walk.all().await?;
        raw.iter()
            .map(|r| serde_json::from_str(r.get()))
            .collect::<Result<_, _>>()
            .map_err(|e| ApiError::unreadable(&e))
    }

    /// Asks for a transfer once; see [`Client::post_once`] for what the result means.
    pub async fn create_transfer(&self, new: &NewTransfer, idempotency_key: &str) -> Result<Answer, ApiError> {
        let amount = new.amount.to_string();
        let mut form = vec![
            ("amount", amount.as_str()),
            ("currency", &new.currency),
            ("destination", &new.destination),
            ("transfer_group", &new.transfer_group),
        ];
        form.extend(new.source_transaction.as_deref().map(|v| ("source_transaction", v)));
        form.extend(new.description.as_deref().map(|v| ("description", v)));
        self.post_once(&Owner::platform(), "/v1/transfers", &form, idempotency_key).await
    }
}

/// Stripe's references are an id or the expanded object.
pub(super) fn id_of<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Reference {
        Id(String),
        Object { id: String },
    }
    Ok(Option::<Reference>::deserialize(d)?.map(|r| match r {
        Reference::Id(id) | Reference::Object { id } => id,
    }))
}
