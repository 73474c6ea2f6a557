"""The tables of the store, version by version."""

# One script per version, never edited once released; without `;` inside a statement.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE campaigns (
        id INTEGER PRIMARY KEY,
        spec TEXT NOT NULL,
        property TEXT NOT NULL,
        domain TEXT NOT NULL,
        model TEXT NOT NULL,
        settings TEXT NOT NULL,
        seed TEXT NOT NULL,
        budget INTEGER NOT NULL,
        search TEXT NOT NULL,
        engine TEXT NOT NULL,
        started TEXT NOT NULL,
        finished TEXT,
        verdict TEXT,
        counts TEXT NOT NULL,
        next_case INTEGER NOT NULL
    );
    CREATE TABLE bugs (
        campaign INTEGER NOT NULL REFERENCES campaigns (id),
        choices TEXT NOT NULL,
        id TEXT NOT NULL,
        number INTEGER NOT NULL,
        inputs TEXT NOT NULL,
        outputs TEXT NOT NULL,
        failed TEXT NOT NULL,
        seen INTEGER NOT NULL,
        status TEXT NOT NULL,
        PRIMARY KEY (campaign, choices)
    );
    CREATE INDEX bugs_by_id ON bugs (id, campaign)
    """,
    # 0.2: a campaign keeps its whole result and all that resuming needs, and so do the
    # violations that did not fail again (`how` is runner.violations.How).
    """
    ALTER TABLE campaigns ADD COLUMN result TEXT;
    ALTER TABLE campaigns ADD COLUMN state TEXT;
    ALTER TABLE bugs ADD COLUMN how INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE bugs ADD COLUMN mask INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE bugs ADD COLUMN gap REAL;
    ALTER TABLE bugs ADD COLUMN is_new INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE bugs ADD COLUMN latest INTEGER NOT NULL DEFAULT 1;
    UPDATE bugs SET latest = 0
        WHERE campaign < (SELECT max(campaign) FROM bugs AS met WHERE met.id = bugs.id);
    CREATE UNIQUE INDEX bugs_by_case ON bugs (campaign, number);
    CREATE INDEX latest_bugs ON bugs (campaign, number) WHERE latest AND how < 2;
    CREATE INDEX campaigns_by_spec ON campaigns (spec, model)
    """,
    # A smaller case that breaks the property too, as JSON; NULL where none was found.
    "ALTER TABLE bugs ADD COLUMN shrunk TEXT",
    # 0.3: a bug whose inputs a search has made holds its records, and how far they are
    # from the data.
    """
    ALTER TABLE bugs ADD COLUMN made TEXT NOT NULL DEFAULT '{}'
    """,
    # When the run of a campaign that ended had written its reports: before, it can be
    # resumed.
    """
    ALTER TABLE campaigns ADD COLUMN reported TEXT;
    UPDATE campaigns SET reported = finished
    """,
    "ALTER TABLE campaigns RENAME COLUMN engine TO mode",
    # 0.3 renamed what results hold: those of 0.2 are shown no more, as those of 0.1; bugs
    # stay. A shrunk case with "gap" twice has a feature of that name: it is dropped.
    """
    ALTER TABLE bugs RENAME COLUMN gap TO margin;
    UPDATE campaigns SET result = NULL;
    UPDATE bugs SET shrunk = CASE
        WHEN length(shrunk) - length(replace(shrunk, '"gap":', '')) = 6
        THEN replace(shrunk, '"gap":', '"margin":') END
    """,
    # Calls of the model that a campaign with a limit has made, also if it is killed.
    "ALTER TABLE campaigns ADD COLUMN asked INTEGER NOT NULL DEFAULT 0",
)
