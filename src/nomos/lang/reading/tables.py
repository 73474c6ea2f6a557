"""The parser of grammar.lark, whose tables are computed once for each version of it.

To compute them takes twenty times as long as to read them. They lie where Python keeps the
byte code of this module, so that nobody can change them who cannot change the package, and
are JSON, from which nothing is run. A digest over the tables and all that they come from
tells those that are stale or damaged: these are computed again.
"""

import contextlib
import hashlib
import json
import sys
from importlib import resources
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import lark

from nomos.files import write_whole

STARTS = ["spec", "library", "statement"]


def load_parser(transformer: lark.Transformer[Any, Any]) -> lark.Lark:
    """Return the parser, with tables that were kept where they are still right."""
    text = resources.files(__package__).joinpath("grammar.lark").read_text("utf-8")
    source = f"{lark.__version__}\n{text}"
    kept = _read_tables(source)
    if kept is not None:
        kept["data"]["options"]["transformer"] = transformer
        return lark.Lark.load(kept)
    parser = lark.Lark(
        text,
        parser="lalr",
        start=STARTS,
        transformer=transformer,
        keep_all_tokens=True,  # the nodes' spans reach from first to last token
        maybe_placeholders=False,
    )
    if not sys.dont_write_bytecode:
        _keep_tables(parser, source)
    return parser


def tables_path() -> Path:
    """Return where the tables are kept, for this version of Python."""
    return Path(cache_from_source(__file__)).with_suffix(".json")


def _read_tables(source: str) -> Any:
    """Return the tables, or None where there are none, or not of this source."""
    with contextlib.suppress(OSError, UnicodeDecodeError, NotImplementedError):
        digest, _, tables = tables_path().read_text("ascii").partition("\n")
        if digest == _hash_tables(source, tables):
            return json.loads(tables, object_hook=_restore_numbers)
    return None


def _keep_tables(parser: lark.Lark, source: str) -> None:
    data, memo = parser.memo_serialize([lark.lexer.TerminalDef, lark.grammar.Rule])
    del data["options"]["transformer"]
    tables = json.dumps({"data": data, "memo": memo}, separators=(",", ":"))
    # Then each process computes them
    with contextlib.suppress(OSError, NotImplementedError):
        tables_path().parent.mkdir(exist_ok=True)
        write_whole(tables_path(), f"{_hash_tables(source, tables)}\n{tables}".encode())


def _hash_tables(source: str, tables: str) -> str:
    return hashlib.sha256(f"{source}\n{tables}".encode()).hexdigest()


def _restore_numbers(table: dict[str, Any]) -> dict[str | int, Any]:
    """Return a table with the keys that JSON has made strings: states are numbered."""
    return {int(key) if key.isdigit() else key: row for key, row in table.items()}
