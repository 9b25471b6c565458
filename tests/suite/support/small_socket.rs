//! The socket that `stripe listen` connects to: sends signed events, and can be cut.

use std::sync::Mutex;

use axum::Json;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use payout_ledger::stripe::signature::Secret;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::small_stripe::SmallStripe;

const SECRET: &str = "whsec_small_stripe";

/// What the sockets share.
pub struct Sockets {
    frames: broadcast::Sender<Frame>,
    /// `event_ack` and `webhook_response` frames that came back, by event id.
    pub acked: Mutex<Vec<String>>,
}

#[derive(Clone)]
enum Frame {
    Event(String),
    Cut,
}

impl Default for Sockets {
    fn default() -> Self {
        Self { frames: broadcast::channel(10_000).0, acked: Mutex::default() }
    }
}

impl Sockets {
    /// Whether anybody is connected.
    pub fn is_open(&self) -> bool {
        self.frames.receiver_count() > 0
    }

    /// Ends every connection without a word.
    pub fn cut(&self) {
        let _ = self.frames.send(Frame::Cut);
    }

    /// Sends an event to whoever is connected; nobody else ever gets it.
    pub fn send(&self, event: &str) {
        let now = chrono::Utc::now().timestamp();
        let signature = Secret::new(&SecretString::from(SECRET)).unwrap().sign(now, event.as_bytes());
        let frame = json!({
            "type": "webhook_event", "endpoint": {"api_version": null}, "event_payload": event,
            "http_headers": {"Stripe-Signature": signature, "Content-Type": "application/json; charset=utf-8"},
            "webhook_conversation_id": "wc_1", "webhook_id": "we_1",
        });
        let _ = self.frames.send(Frame::Event(frame.to_string()));
    }
}

pub async fn session(State(stripe): State<SmallStripe>) -> Json<Value> {
    let host = stripe.held().host.clone();
    Json(json!({
        "secret": SECRET, "websocket_id": "cliws_1", "websocket_url": format!("ws://{host}/subscribe/acct_small"),
        "websocket_authorized_feature": "webhook-payloads", "reconnect_delay": 600,
    }))
}

pub async fn subscribe(State(stripe): State<SmallStripe>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.protocols(["stripecli-devproxy-v1"]).on_upgrade(move |socket| serve(stripe, socket))
}

async fn serve(stripe: SmallStripe, mut socket: WebSocket) {
    let mut frames = stripe.sockets.frames.subscribe();
    loop {
        tokio::select! {
            frame = frames.recv() => match frame {
                Ok(Frame::Event(text)) => if socket.send(Message::Text(text.into())).await.is_err() { return },
                _ => return,
            },
            message = socket.recv() => match message {
                Some(Ok(Message::Text(text))) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    let id = frame["notification_id"].as_str();
                    stripe.sockets.acked.lock().unwrap().extend(id.map(str::to_owned));
                }
                Some(Ok(_)) => {}
                _ => return,
            },
        }
    }
}
