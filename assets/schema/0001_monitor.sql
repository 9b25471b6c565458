-- The monitor's tables. The database itself holds the invariants: no stored side below or above zero, one posting
-- per leg key, every posting sums to zero, append-only journal and audit, ids kept for ever.
-- Amounts are Stripe's minor units. *_ms are unix milliseconds of our clock; created is Stripe's unix seconds.
-- livemode: 0 test, 1 live, part of every key.

-- The inbox: one row per event id, in order of arrival. state: 0 received, 1 waiting, 2 stuck, 3 applied, 4 skipped,
-- 5 ignored, 6 dismissed. rank orders the snapshots of one object; status, amount, currency are the object's own.
-- needs_*: what a blocked posting lacks (needs_amount), in which balance, and its whole net debit there (needs_debit).
CREATE TABLE events (
    seq            INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL UNIQUE,
    livemode       INTEGER NOT NULL CHECK (livemode IN (0, 1)),
    type           TEXT    NOT NULL,
    account        TEXT    NOT NULL,
    object         TEXT    NOT NULL,
    rank           INTEGER NOT NULL DEFAULT 0,
    status         TEXT,
    amount         INTEGER,
    currency       TEXT,
    created        INTEGER NOT NULL,
    first_ms       INTEGER NOT NULL,
    last_ms        INTEGER NOT NULL,
    deliveries     INTEGER NOT NULL DEFAULT 1 CHECK (deliveries >= 1),
    state          INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 6),
    reason         TEXT,
    attempts       INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_ms        INTEGER,
    needs_account  TEXT,
    needs_currency TEXT,
    needs_amount   INTEGER CHECK (needs_amount > 0),
    needs_debit    INTEGER CHECK (needs_debit > 0),
    effect         TEXT,
    settled_ms     INTEGER,
    CHECK ((state = 1) = (next_ms IS NOT NULL))
) STRICT;
CREATE INDEX events_received ON events (seq) WHERE state = 0;
CREATE INDEX events_by_state ON events (state, seq) WHERE state IN (1, 2, 4, 5, 6);
CREATE INDEX events_recovered ON events (settled_ms) WHERE state = 3 AND attempts > 0;
CREATE INDEX events_due ON events (next_ms) WHERE state = 1;
CREATE INDEX events_by_need ON events (livemode, needs_account, needs_currency, needs_debit) WHERE state IN (1, 2);
CREATE INDEX events_by_object ON events (object, seq) WHERE object <> '';
CREATE INDEX events_by_account ON events (account, seq);
CREATE TRIGGER events_are_kept BEFORE DELETE ON events BEGIN SELECT raise(ABORT, 'event ids are kept for ever'); END;

-- The body, byte for byte as it was received and signed. May be pruned, never changed.
CREATE TABLE payloads (
    seq  INTEGER PRIMARY KEY REFERENCES events (seq) DEFERRABLE INITIALLY DEFERRED,
    body BLOB NOT NULL
) STRICT;
CREATE TRIGGER payloads_never_change BEFORE UPDATE ON payloads BEGIN SELECT raise(ABORT, 'payloads never change'); END;

-- Failed tries of a blocked event.
CREATE TABLE tries (
    id    INTEGER PRIMARY KEY,
    seq   INTEGER NOT NULL REFERENCES events (seq) DEFERRABLE INITIALLY DEFERRED,
    at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX tries_by_event ON tries (seq, id);

-- What Stripe says about each payout. posted: whether the journal holds every leg the status implies.
-- arrival_date: 0 when unknown. details: JSON object of R6 fields from the snapshot with the greatest (rank, created, event id).
CREATE TABLE payouts (
    key             INTEGER PRIMARY KEY,
    livemode        INTEGER NOT NULL CHECK (livemode IN (0, 1)),
    id              TEXT    NOT NULL,
    account         TEXT    NOT NULL,
    amount          INTEGER NOT NULL,
    currency        TEXT    NOT NULL,
    status          TEXT    NOT NULL CHECK (status IN ('pending', 'in_transit', 'paid', 'failed', 'canceled')),
    posted          INTEGER NOT NULL CHECK (posted IN (0, 1)),
    debit           INTEGER NOT NULL CHECK (debit IN (0, 1)),
    ambiguous       INTEGER NOT NULL DEFAULT 0 CHECK (ambiguous IN (0, 1)),
    details         TEXT    NOT NULL,
    details_rank    INTEGER NOT NULL,
    details_created INTEGER NOT NULL,
    details_event   TEXT    NOT NULL,
    arrival_date    INTEGER NOT NULL DEFAULT 0,
    failure_code    TEXT,
    events          INTEGER NOT NULL,
    last_seq        INTEGER NOT NULL,
    last_ms         INTEGER NOT NULL,
    UNIQUE (livemode, id)
) STRICT;
CREATE INDEX payouts_by_last ON payouts (livemode, last_seq);
CREATE INDEX payouts_by_status ON payouts (livemode, status, last_seq);
CREATE INDEX payouts_by_account ON payouts (livemode, account);
CREATE INDEX payouts_by_amount ON payouts (livemode, amount, key);
CREATE INDEX payouts_by_arrival ON payouts (livemode, arrival_date, key);

-- One row per owner and currency. funds and claims are the stored accounts; the rest are figures for the screens,
-- kept in the same transactions. waiting: net of all pending legs; competing: blocked events that debit this balance.
CREATE TABLE balances (
    key       INTEGER PRIMARY KEY,
    livemode  INTEGER NOT NULL CHECK (livemode IN (0, 1)),
    account   TEXT    NOT NULL,
    currency  TEXT    NOT NULL CHECK (length(currency) = 3),
    funds     INTEGER NOT NULL DEFAULT 0 CHECK (funds >= 0),
    claims    INTEGER NOT NULL DEFAULT 0 CHECK (claims <= 0),
    waiting   INTEGER NOT NULL DEFAULT 0,
    competing INTEGER NOT NULL DEFAULT 0 CHECK (competing >= 0),
    in_flight INTEGER NOT NULL DEFAULT 0,
    paid_out  INTEGER NOT NULL DEFAULT 0,
    returned  INTEGER NOT NULL DEFAULT 0,
    opened    INTEGER NOT NULL DEFAULT 0 CHECK (opened IN (0, 1)),
    UNIQUE (livemode, account, currency),
    UNIQUE (key, livemode, currency)
) STRICT;

-- The journal: one leg a row, from one side to another, so each sums to zero in its one currency.
-- class: 0 funds, 1 claims, 2 external (no balance row). One row per leg key. Never changed, never deleted.
-- event: the events row that posted it; no foreign key, since a leg is written before its event and SQLite would then
-- scan the journal for each new event. `verify` holds it instead.
CREATE TABLE journal (
    id           INTEGER PRIMARY KEY,
    livemode     INTEGER NOT NULL CHECK (livemode IN (0, 1)),
    object       TEXT    NOT NULL,
    leg          TEXT    NOT NULL,
    upto         INTEGER NOT NULL CHECK (upto >= 0),
    event        INTEGER,
    debit        INTEGER,
    debit_class  INTEGER NOT NULL CHECK (debit_class BETWEEN 0 AND 2),
    credit       INTEGER,
    credit_class INTEGER NOT NULL CHECK (credit_class BETWEEN 0 AND 2),
    amount       INTEGER NOT NULL CHECK (amount > 0),
    currency     TEXT    NOT NULL,
    posted_ms    INTEGER NOT NULL,
    UNIQUE (livemode, object, leg, upto),
    CHECK ((debit IS NULL) = (debit_class = 2)),
    CHECK ((credit IS NULL) = (credit_class = 2)),
    CHECK (debit IS NOT NULL OR credit IS NOT NULL),
    FOREIGN KEY (debit, livemode, currency) REFERENCES balances (key, livemode, currency),
    FOREIGN KEY (credit, livemode, currency) REFERENCES balances (key, livemode, currency)
) STRICT;
CREATE INDEX journal_by_debit ON journal (debit, id) WHERE debit IS NOT NULL;
CREATE INDEX journal_by_credit ON journal (credit, id) WHERE credit IS NOT NULL;
CREATE TRIGGER journal_never_changes BEFORE UPDATE ON journal BEGIN SELECT raise(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER journal_is_kept BEFORE DELETE ON journal BEGIN SELECT raise(ABORT, 'the journal is append-only'); END;

-- An event's own rows may be written before the event: the references are checked at commit.

-- The legs that a waiting or stuck event wants to post. account is null outside Stripe.
CREATE TABLE pending_legs (
    seq            INTEGER NOT NULL REFERENCES events (seq) DEFERRABLE INITIALLY DEFERRED,
    n              INTEGER NOT NULL,
    leg            TEXT    NOT NULL,
    upto           INTEGER NOT NULL,
    debit_account  TEXT,
    debit_class    INTEGER NOT NULL,
    credit_account TEXT,
    credit_class   INTEGER NOT NULL,
    amount         INTEGER NOT NULL CHECK (amount > 0),
    currency       TEXT    NOT NULL,
    PRIMARY KEY (seq, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_by_credit ON pending_legs (credit_account, currency, seq);
CREATE INDEX pending_by_debit ON pending_legs (debit_account, currency, seq);

-- How many events per state and payouts per status; kept in the same transactions, so no screen counts rows.
CREATE TABLE counters (
    livemode INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    n        INTEGER NOT NULL,
    PRIMARY KEY (livemode, name)
) STRICT, WITHOUT ROWID;

-- R9: everything a person did, in the same transaction as the deed.
CREATE TABLE audit (
    id         INTEGER PRIMARY KEY,
    livemode   INTEGER NOT NULL,
    at_ms      INTEGER NOT NULL,
    who        TEXT    NOT NULL,
    action     TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    object     TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    state_before TEXT  NOT NULL,
    state_after  TEXT  NOT NULL
) STRICT;
CREATE INDEX audit_by_object ON audit (object, id);
CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit BEGIN SELECT raise(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit BEGIN SELECT raise(ABORT, 'the audit is append-only'); END;

-- Facts about this database: backfill watermarks and the like.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
