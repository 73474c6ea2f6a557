"""What the words of the language mean, in a sentence each: the tables of words.toml."""

import tomllib
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_suffix(".toml")
_TABLES: dict[str, dict[str, Any]] = tomllib.loads(_FILE.read_text("utf-8"))
_STATEMENTS, _EXPRESSIONS = _TABLES["statements"], _TABLES["expressions"]
KEYWORDS = {word: one["about"] for word, one in _STATEMENTS.items()}
STATEMENTS = {word: one["form"] for word, one in _STATEMENTS.items()}
EXPRESSIONS = {word: one["about"] for word, one in _EXPRESSIONS.items()}
FORMS = {word: one["form"] for word, one in _EXPRESSIONS.items() if "form" in one}
BUILT_IN = {n: (one["call"], one["about"]) for n, one in _TABLES["functions"].items()}
TYPES = _TABLES["types"]
