//! R1 over HTTP: checks a delivery, hands it to the writer, and answers 200 only when it is on disk.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};

use super::delivery::Queue;
use super::now_ms;
use super::rejections::Rejections;
use super::secrets::Secrets;
use crate::store::writer::{Answer, Arrival};

/// The largest body. Bytes.
pub const MAX_BODY: usize = 4 << 20;
/// A client that sends nothing for this long is let go.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a client that is in the middle of a delivery is waited for when we stop. What it has not sent is not promised.
const GRACE: Duration = Duration::from_secs(5);
/// Connections at once; more wait to be accepted.
const CONNECTIONS: usize = 2_048;
/// After an accept failed (no file descriptors left), how long to rest.
const REST: Duration = Duration::from_millis(50);

/// A delivery that was accepted, for whoever passes it on.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The bytes as they came.
    pub body: Bytes,
    /// The `Stripe-Signature` header as it came.
    pub signature: Option<String>,
    /// When, unix milliseconds.
    pub received_ms: i64,
}

/// What every connection shares.
#[derive(Debug, Clone)]
pub struct Intake {
    /// To the writer.
    pub queue: Queue,
    /// To check with.
    pub secrets: Secrets,
    /// Whether unsigned deliveries are taken (loopback only).
    pub allow_unsigned: bool,
    /// Where refusals are counted.
    pub rejections: Rejections,
    /// Where accepted deliveries go on to (the chaos proxy). A full channel loses none of ours, only its copy.
    pub tap: Option<mpsc::Sender<Accepted>>,
}

/// Binds the address; a loopback address is bound for IPv4 and IPv6, since `localhost` may mean either.
pub async fn bind(addr: SocketAddr) -> io::Result<Vec<TcpListener>> {
    let first = TcpListener::bind(addr).await?;
    let port = first.local_addr()?.port();
    let mut listeners = vec![first];
    if addr.ip() == IpAddr::from([127, 0, 0, 1]) {
        // A machine without IPv6 has no second loopback; then there is nobody to answer there.
        listeners.extend(TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await.ok());
    }
    Ok(listeners)
}

/// Serves until `stop` says so; then takes no more, finishes what was begun, and returns.
pub async fn serve(listeners: Vec<TcpListener>, intake: Intake, stop: watch::Receiver<bool>) {
    let intake = Arc::new(intake);
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let accepting = listeners.into_iter().map(|listener| {
        let (intake, room, mut stop) = (intake.clone(), room.clone(), stop.clone());
        async move {
            loop {
                let Ok(seat) = room.clone().acquire_owned().await else { return };
                let stream = tokio::select! {
                    accepted = listener.accept() => accepted,
                    _ = stop.wait_for(|stop| *stop) => return,
                };
                match stream {
                    Ok((stream, _)) => {
                        let (intake, stop) = (intake.clone(), stop.clone());
                        tokio::spawn(async move {
                            connection(stream, intake, stop).await;
                            drop(seat);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "accept");
                        tokio::time::sleep(REST).await;
                    }
                }
            }
        }
    });
    futures::future::join_all(accepting).await;
    // Every seat back: every connection has ended.
    let all = u32::try_from(CONNECTIONS).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(GRACE, room.acquire_many(all)).await;
}

async fn connection(stream: TcpStream, intake: Arc<Intake>, mut stop: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let intake = intake.clone();
        async move { Ok::<_, Infallible>(answer(request, &intake).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(64 << 10);
    let serving = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    // A client that breaks off is its own affair: what it had delivered is stored or was never promised.
    tokio::select! {
        _ = serving.as_mut() => return,
        _ = stop.wait_for(|stop| *stop) => serving.as_mut().graceful_shutdown(),
    }
    let _ = serving.await;
}

type Reply = Response<Full<Bytes>>;

fn reply(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

async fn answer(request: Request<Incoming>, intake: &Intake) -> Reply {
    match (request.uri().path(), request.method()) {
        ("/webhook" | "/webhook/", &Method::POST) => match deliver(request, intake).await {
            Ok(response) => response,
            Err(Refusal { status, reason, line }) => {
                intake.rejections.add(reason, &line, now_ms());
                tracing::warn!(reason, "refused: {line}");
                reply(status, line + "\n")
            }
        },
        ("/healthz", &Method::GET | &Method::HEAD) => reply(StatusCode::OK, "ok\n"),
        ("/webhook" | "/webhook/" | "/healthz", _) => {
            reply(StatusCode::METHOD_NOT_ALLOWED, "POST events to /webhook\n")
        }
        _ => reply(StatusCode::NOT_FOUND, "POST events to /webhook\n"),
    }
}

/// A delivery that nothing was stored of.
struct Refusal {
    status: StatusCode,
    reason: &'static str,
    line: String,
}

fn refuse(status: StatusCode, reason: &'static str, line: impl Into<String>) -> Refusal {
    Refusal { status, reason, line: line.into() }
}

async fn deliver(request: Request<Incoming>, intake: &Intake) -> Result<Reply, Refusal> {
    let headers = request.headers();
    if headers.get(CONTENT_ENCODING).is_some_and(|v| v != "identity") {
        let line = "the body is encoded: send it as it was signed";
        return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "encoded body", line));
    }
    let too_large = || refuse(StatusCode::PAYLOAD_TOO_LARGE, "too large", "the body is over 4 MiB");
    let length = header(headers, CONTENT_LENGTH.as_str()).and_then(|v| v.parse::<u64>().ok());
    if length.is_some_and(|n| n > MAX_BODY as u64) {
        return Err(too_large());
    }
    let signature = header(headers, "stripe-signature").map(str::to_owned);
    let reading = Limited::new(request.into_body(), MAX_BODY).collect();
    let body = match tokio::time::timeout(PATIENCE, reading).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => return Err(too_large()),
        Ok(Err(_)) => return Err(refuse(StatusCode::BAD_REQUEST, "broken off", "the body broke off")),
        Err(_) => return Err(refuse(StatusCode::REQUEST_TIMEOUT, "too slow", "the body took too long")),
    };
    let received_ms = now_ms();
    if !intake.allow_unsigned {
        intake
            .secrets
            .verify(signature.as_deref(), &body, received_ms.div_euclid(1_000))
            .map_err(|why| refuse(StatusCode::BAD_REQUEST, why.word(), why.to_string()))?;
    }
    let unavailable =
        || refuse(StatusCode::SERVICE_UNAVAILABLE, "not stored", "not stored: the database failed or is overloaded");
    let not_an_event = |why: &str| refuse(StatusCode::BAD_REQUEST, "not an event", why);
    let arrival = Arrival::new(body.to_vec(), received_ms);
    if let Err(why) = &arrival.event {
        return Err(not_an_event(why.0));
    }
    let answer = intake.queue.hand_over(arrival).ok_or_else(unavailable)?.await.map_err(|_| unavailable())?;
    let text = match answer {
        Answer::Refused(why) => return Err(not_an_event(why)),
        Answer::Stored { .. } => "stored\n",
        Answer::Repeat { .. } => "already stored\n",
    };
    if let Some(tap) = &intake.tap {
        let _ = tap.try_send(Accepted { body, signature, received_ms });
    }
    Ok(reply(StatusCode::OK, text))
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|v| v.to_str().ok())
}
