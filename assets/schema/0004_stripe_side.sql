-- What the Stripe side found out: differences to Stripe's record, and alerts. Kept as history; only one open row per
-- object and kind. Amounts are minor units, *_ms unix milliseconds of our clock.

CREATE TABLE findings (
    id          INTEGER PRIMARY KEY,
    livemode    INTEGER NOT NULL CHECK (livemode IN (0, 1)),
    kind        TEXT    NOT NULL,
    object      TEXT    NOT NULL,
    account     TEXT    NOT NULL,
    here        TEXT    NOT NULL,
    there       TEXT    NOT NULL,
    unexplained INTEGER,
    opened_ms   INTEGER NOT NULL,
    seen_ms     INTEGER NOT NULL,
    resolved_ms INTEGER
) STRICT;
CREATE UNIQUE INDEX findings_open ON findings (livemode, kind, account, object) WHERE resolved_ms IS NULL;

-- cleared_ms: the reason has passed. acknowledged_ms: a person has seen it. posted_ms: --alert-webhook has it.
CREATE TABLE alerts (
    id              INTEGER PRIMARY KEY,
    livemode        INTEGER NOT NULL CHECK (livemode IN (0, 1)),
    kind            TEXT    NOT NULL,
    object          TEXT    NOT NULL,
    account         TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    raised_ms       INTEGER NOT NULL,
    cleared_ms      INTEGER,
    acknowledged_ms INTEGER,
    posted_ms       INTEGER
) STRICT;
CREATE UNIQUE INDEX alerts_open ON alerts (livemode, kind, account, object) WHERE cleared_ms IS NULL;
CREATE INDEX alerts_unseen ON alerts (livemode, id) WHERE cleared_ms IS NULL AND acknowledged_ms IS NULL;
CREATE INDEX alerts_unposted ON alerts (id) WHERE posted_ms IS NULL;
