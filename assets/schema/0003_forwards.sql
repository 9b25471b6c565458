-- What the chaos proxy passed on. *_ms are unix milliseconds of our clock. The signature is Stripe's header as it came:
-- a code over body and time, not a secret.

CREATE TABLE chaos_runs (
    id         INTEGER PRIMARY KEY,
    started_ms INTEGER NOT NULL,
    target     TEXT    NOT NULL,
    seed       TEXT    NOT NULL,
    settings   TEXT    NOT NULL
) STRICT;

-- arrival: the n-th delivery of the run. nth: the place in which it was sent; none when it was dropped.
CREATE TABLE forwards (
    id        INTEGER PRIMARY KEY,
    run       INTEGER NOT NULL REFERENCES chaos_runs (id),
    event     TEXT    NOT NULL,
    arrival   INTEGER NOT NULL,
    copy      INTEGER NOT NULL,
    nth       INTEGER,
    sent_ms   INTEGER,
    status    INTEGER,
    took_ms   INTEGER,
    note      TEXT    NOT NULL DEFAULT '',
    signature TEXT,
    CHECK ((nth IS NULL) = (sent_ms IS NULL))
) STRICT;
CREATE UNIQUE INDEX forwards_by_place ON forwards (run, nth) WHERE nth IS NOT NULL;
CREATE INDEX forwards_by_run ON forwards (run, id);
