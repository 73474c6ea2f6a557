"""Queries made of parts, translated by sqlglot, and run where they came from and went to.

A query is a row of features: what is selected, which rows, in which order. So bugs have
groups ("where the expression is `x LIKE ...`"), and can be shrunk. Every query runs on
SQLite, whose dialect it is written in; the translation runs on DuckDB. Both hold the
same small table, with missing values, capitals, blanks and negative numbers in it.
"""

from __future__ import annotations

import datetime
import decimal
import json
import sqlite3

import numpy as np

from nomos import Domain, DomainError, Schema, batched
from nomos.domain.schema import Category

try:
    import duckdb
    import sqlglot
    from sqlglot.optimizer import optimize
except ImportError as missing:
    raise DomainError(
        f"{missing.name} is not here: pip install -r casestudies/sql_translation/"
        "requirements.txt"
    ) from None

COLUMNS = {"id": "INTEGER", "name": "TEXT", "price": "REAL", "qty": "INTEGER"}
ITEMS = [
    (1, "Chair", 19.5, 4),
    (2, "chair", -7.25, -3),
    (3, "Table", 120.0, 0),
    (4, None, 2.5, 7),
    (5, "", 0.0, None),
    (6, "lamp  ", None, -8),
    (7, "Ärmel", 3.5, 2),
    (8, "a_b%c", -0.5, 10),
]
EXPRESSIONS = [
    "id",
    *("qty", "price", "name", "qty + 1", "-qty", "qty * price", "qty / 3", "qty / 0"),
    *("qty % 3", "price / 2", "7 / 2", "qty & 3", "qty | 8", "~qty", "qty << 1"),
    *("qty = 4", "qty <> 4", "qty IS 4", "qty IS NOT 4", "qty IS NULL", "NOT qty"),
    *("name LIKE 'ch%'", "name LIKE '%R'", "name NOT LIKE 'c%'", "name GLOB 'c*'"),
    *("name LIKE 'a\\_b%' ESCAPE '\\'", "name = 'chair'", "name IN ('Chair', NULL)"),
    *("upper(name)", "lower(name)", "length(name)", "trim(name)", "rtrim(name)"),
    *("substr(name, 2)", "substr(name, 0, 3)", "substr(name, -2)", "instr(name, 'a')"),
    *(
        "replace(name, 'a', 'o')",
        "name || qty",
        "name || '!'",
        "hex(name)",
        "unicode(name)",
    ),
    *("abs(qty)", "round(price)", "round(price, 1)", "round(qty, -1)", "sign(qty)"),
    *("max(qty, 3)", "min(qty, id)", "max(qty, price)", "coalesce(qty, id)"),
    *("ifnull(name, '?')", "nullif(qty, 4)", "iif(qty > 2, 'many', 'few')"),
    *("CASE qty WHEN 4 THEN 'four' ELSE 'other' END", "CASE WHEN qty THEN 1 END"),
    *("CAST(price AS INTEGER)", "CAST(qty AS TEXT)", "CAST(price AS TEXT)"),
    *("CAST(name AS INTEGER)", "CAST(qty AS REAL) / 3", "typeof(qty)", "quote(name)"),
    *(
        "count(*)",
        "count(qty)",
        "count(DISTINCT lower(name))",
        "sum(qty)",
        "total(qty)",
    ),
    *("avg(qty)", "min(name)", "max(price)", "group_concat(id)", "sum(qty) / count(*)"),
]
ID = 0  # of the plainest expression
CONDITIONS = [
    *("", "qty > 0", "qty", "NOT qty", "price <= 3.5", "name LIKE 'c%'", "name <> ''"),
    *(
        "qty BETWEEN -3 AND 4",
        "qty IN (4, 7, NULL)",
        "qty NOT IN (4, 7)",
        "qty / 2 = 1",
    ),
    *("name IS NULL OR qty < 0", "NOT (qty > 2 AND price > 0)", "id % 2"),
]
ORDERS = ["", "qty DESC, id", "name, id"]


class Queries(Domain):
    """Queries of SQLite's dialect; `translate` is what is tested.

    With `--set parts=single`, each query has one part that `SELECT id FROM items` has not,
    so that each bug is a cause of its own.
    """

    schema = Schema(
        Category("expression", EXPRESSIONS),
        Category("condition", CONDITIONS),
        Category("order", ORDERS),
    )

    def __init__(self, parts: str = "all") -> None:
        self._parts = parts
        self._sqlite, self._duckdb = sqlite3.connect(":memory:"), duckdb.connect()
        columns = ", ".join(map(" ".join, COLUMNS.items()))
        for engine in (self._sqlite, self._duckdb):
            columns = columns.replace("REAL", "DOUBLE")  # DuckDB's REAL is a float32
            engine.execute(f"CREATE TABLE items ({columns})")
            engine.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", ITEMS)

    def inputs(self) -> np.ndarray:
        """Return all queries that can be made, or those of a `single` part."""
        sizes = [len(EXPRESSIONS), len(CONDITIONS), len(ORDERS)]
        made = np.stack([one.ravel() for one in np.indices(sizes)], axis=1)
        single = np.count_nonzero(made != [ID, 0, 0], axis=1) == 1
        return made[single] if self._parts == "single" else made

    def write(self, x) -> str:
        """Write a query."""
        expression, condition, order = (
            feature.levels[int(place)]
            for feature, place in zip(self.schema.features, x, strict=True)
        )
        where = f" WHERE {condition}" if condition else ""
        is_sum = expression.startswith(("count", "sum", "total", "avg", "group"))
        is_sum = is_sum or expression in ("min(name)", "max(price)")
        limit = f" ORDER BY {order} LIMIT 5" if order and not is_sum else ""
        return f"SELECT {expression} AS v FROM items{where}{limit}"

    @batched
    def translate(self, queries, to):
        """Translate queries of SQLite to another dialect."""
        pairs = zip(queries, to, strict=True)
        return [sqlglot.transpile(q, read="sqlite", write=d)[0] for q, d in pairs]

    @batched
    def translate_back(self, queries):
        """Translate queries of DuckDB to SQLite."""
        return [sqlglot.transpile(q, read="duckdb", write="sqlite")[0] for q in queries]

    @batched
    def translate_postgres(self, queries):
        """Translate queries of PostgreSQL to DuckDB."""
        return [
            sqlglot.transpile(q, read="postgres", write="duckdb")[0] for q in queries
        ]

    @batched
    def optimized(self, queries):
        """Rewrite queries of DuckDB into simpler ones that say the same."""
        tables = {"items": COLUMNS | {"price": "DOUBLE"}}
        return [
            optimize(q, schema=tables, dialect="duckdb").sql("duckdb") for q in queries
        ]

    def renamed(self, query: str) -> str:
        """Give the table another name."""
        return query.replace("FROM items", "FROM items AS other")

    def commented(self, query: str) -> str:
        """Put a comment in."""
        return query.replace(" AS v ", " /* it's; -- v */ AS v -- next\n ")

    def spread(self, query: str) -> str:
        """Write each word on a line of its own, where that is no text."""
        return query if "'" in query else query.replace(" ", "\n")

    def rows(self, query: str) -> str:
        """Run a query on SQLite."""
        return run_query(self._sqlite, sqlite3.Error, query)

    def translated_rows(self, query: str) -> str:
        """Run a query on DuckDB."""
        return run_query(self._duckdb, duckdb.Error, query)

    def runs(self, rows: str) -> bool:
        """Tell whether a query had a result."""
        return not rows.startswith("refused")


def run_query(engine, error, query: str) -> str:
    """Return the rows of a query in their order, or sorted where it has none."""
    try:
        found = [
            [plain_value(v) for v in row] for row in engine.execute(query).fetchall()
        ]
    except error as refused:
        return f"refused: {str(refused).splitlines()[0]}"
    values = [row[0] for row in found]
    return json.dumps(values if "ORDER BY" in query else sorted(values, key=repr))


def plain_value(value):
    """Return a value as both engines can show it: 1 for true, 9 digits of a real."""
    if isinstance(value, decimal.Decimal | float):
        rounded = round(float(value), 9) + 0.0
        return int(rounded) if rounded.is_integer() else rounded
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime.date | bytes):
        return str(value)
    return value
