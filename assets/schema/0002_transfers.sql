-- Outgoing transfers: one row per order, its history, and the queue's memory of jobs. The database holds guard 1: one row
-- per order, fields that never change, an end that is never left, and a claim exactly while something is being sent.

-- doubt: a POST under this version's key may have moved the money. spent: Stripe stored a definite failure under the key.
-- next_ms: when it is due. fence: number of claims so far. key_first_ms: when this version's key was first sent.
CREATE TABLE transfer_orders (
    key                INTEGER PRIMARY KEY,
    livemode           INTEGER NOT NULL CHECK (livemode IN (0, 1)),
    order_ref          TEXT    NOT NULL CHECK (length(order_ref) BETWEEN 1 AND 200),
    amount             INTEGER NOT NULL CHECK (amount > 0),
    currency           TEXT    NOT NULL CHECK (length(currency) = 3),
    destination        TEXT    NOT NULL CHECK (destination GLOB 'acct_?*'),
    source_transaction TEXT,
    description        TEXT,
    created_ms         INTEGER NOT NULL,
    created_by         TEXT    NOT NULL,
    changed_ms         INTEGER NOT NULL,
    state              TEXT    NOT NULL CHECK (state IN ('queued', 'sending', 'unknown', 'sent', 'adopted', 'rejected',
                                                         'conflict', 'dead_letter', 'reversed', 'canceled')),
    version            INTEGER NOT NULL DEFAULT 0 CHECK (version >= 0),
    doubt              INTEGER NOT NULL DEFAULT 0 CHECK (doubt IN (0, 1)),
    spent              INTEGER NOT NULL DEFAULT 0 CHECK (spent IN (0, 1)),
    tries              INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
    next_ms            INTEGER,
    fence              INTEGER NOT NULL DEFAULT 0 CHECK (fence >= 0),
    claim_by           TEXT,
    claim_phase        TEXT    CHECK (claim_phase IN ('looking', 'posting')),
    claim_until_ms     INTEGER,
    key_first_ms       INTEGER,
    transfer           TEXT    CHECK (transfer GLOB 'tr_?*'),
    known_from         TEXT    CHECK (known_from IN ('answer', 'lookup', 'event')),
    reason             TEXT,
    UNIQUE (livemode, order_ref),
    CHECK ((state = 'sending') = (claim_until_ms IS NOT NULL)),
    CHECK ((claim_by IS NULL) = (claim_until_ms IS NULL) AND (claim_phase IS NULL) = (claim_until_ms IS NULL)),
    CHECK ((state IN ('queued', 'unknown')) = (next_ms IS NOT NULL)),
    CHECK (transfer IS NOT NULL OR state NOT IN ('sent', 'adopted', 'reversed')),
    CHECK (transfer IS NULL OR state IN ('sent', 'adopted', 'reversed', 'conflict')),
    CHECK (doubt = 0 OR state IN ('sending', 'unknown', 'conflict', 'dead_letter')),
    CHECK (state <> 'unknown' OR doubt = 1)
) STRICT;
CREATE INDEX transfers_due ON transfer_orders (livemode, next_ms) WHERE next_ms IS NOT NULL;
CREATE INDEX transfers_claimed ON transfer_orders (livemode, claim_until_ms) WHERE claim_until_ms IS NOT NULL;
CREATE INDEX transfers_by_state ON transfer_orders (livemode, state, key);
CREATE INDEX transfers_by_mode ON transfer_orders (livemode, key);
CREATE INDEX transfers_by_transfer ON transfer_orders (livemode, transfer) WHERE transfer IS NOT NULL;
CREATE TRIGGER transfers_are_kept BEFORE DELETE ON transfer_orders
    BEGIN SELECT raise(ABORT, 'orders are kept for ever'); END;
CREATE TRIGGER transfers_keep_their_fields BEFORE UPDATE ON transfer_orders
    WHEN NEW.livemode <> OLD.livemode OR NEW.order_ref <> OLD.order_ref OR NEW.amount <> OLD.amount
      OR NEW.currency <> OLD.currency OR NEW.destination <> OLD.destination
      OR NEW.source_transaction IS NOT OLD.source_transaction OR NEW.description IS NOT OLD.description
    BEGIN SELECT raise(ABORT, 'an order never changes'); END;
CREATE TRIGGER transfers_stay_paid BEFORE UPDATE OF state ON transfer_orders
    WHEN OLD.state IN ('sent', 'adopted', 'reversed') AND NEW.state NOT IN ('sent', 'adopted', 'reversed', 'conflict')
      OR OLD.state = 'canceled' AND NEW.state NOT IN ('canceled', 'conflict')
    BEGIN SELECT raise(ABORT, 'what is paid or canceled is never sent again'); END;
CREATE TRIGGER transfers_count_up BEFORE UPDATE OF version, fence ON transfer_orders
    WHEN NEW.version NOT IN (OLD.version, OLD.version + 1) OR NEW.fence NOT IN (OLD.fence, OLD.fence + 1)
      OR NEW.version > OLD.version AND (OLD.spent = 0 OR OLD.doubt = 1)
    BEGIN SELECT raise(ABORT, 'the version rises by one, after a definite failure only'); END;

-- Everything that was asked, answered, read or done. A 'post' row is committed before its request leaves; its 'answer'
-- row names it. Never changed.
CREATE TABLE transfer_history (
    id         INTEGER PRIMARY KEY,
    order_key  INTEGER NOT NULL REFERENCES transfer_orders (key),
    at_ms      INTEGER NOT NULL,
    who        TEXT    NOT NULL,
    what       TEXT    NOT NULL CHECK (what IN ('created', 'takeover', 'lookup', 'post', 'answer', 'event', 'retry', 'cancel')),
    version    INTEGER NOT NULL,
    post       INTEGER REFERENCES transfer_history (id),
    status     INTEGER,
    request_id TEXT,
    replayed   INTEGER NOT NULL DEFAULT 0 CHECK (replayed IN (0, 1)),
    transfer   TEXT,
    state      TEXT    NOT NULL,
    detail     TEXT    NOT NULL,
    CHECK ((what = 'answer') = (post IS NOT NULL))
) STRICT;
CREATE INDEX transfer_history_by_order ON transfer_history (order_key, id);
CREATE TRIGGER transfer_history_never_changes BEFORE UPDATE ON transfer_history
    BEGIN SELECT raise(ABORT, 'the history is append-only'); END;
CREATE TRIGGER transfer_history_is_kept BEFORE DELETE ON transfer_history
    BEGIN SELECT raise(ABORT, 'the history is append-only'); END;

-- Guard 4: the names of jobs, queued and finished. Finished ones may be forgotten after a time: it is a window.
CREATE TABLE transfer_jobs (
    id          TEXT PRIMARY KEY,
    order_key   INTEGER NOT NULL REFERENCES transfer_orders (key),
    queued_ms   INTEGER NOT NULL,
    finished_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX transfer_jobs_finished ON transfer_jobs (finished_ms) WHERE finished_ms IS NOT NULL;

-- How many orders per state, for the screens.
CREATE TABLE transfer_counts (
    livemode INTEGER NOT NULL,
    state    TEXT    NOT NULL,
    n        INTEGER NOT NULL CHECK (n >= 0),
    PRIMARY KEY (livemode, state)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER transfers_counted AFTER INSERT ON transfer_orders BEGIN
    INSERT INTO transfer_counts VALUES (NEW.livemode, NEW.state, 1)
        ON CONFLICT (livemode, state) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER transfers_recounted AFTER UPDATE OF state ON transfer_orders WHEN NEW.state <> OLD.state BEGIN
    UPDATE transfer_counts SET n = n - 1 WHERE livemode = OLD.livemode AND state = OLD.state;
    INSERT INTO transfer_counts VALUES (NEW.livemode, NEW.state, 1)
        ON CONFLICT (livemode, state) DO UPDATE SET n = n + 1;
END;
