"""Texts as they are while somebody types: whatever is asked of them has an answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
from pygls.workspace import PositionCodec

from nomos.lsp.document import Places, build_document
from nomos.lsp.domains import Imports, import_apart
from nomos.lsp.requests import navigation, outline
from nomos.lsp.requests.completion import complete_at
from nomos.lsp.requests.fixes import fixes_of
from nomos.lsp.requests.hover import hover_at
from nomos.pygments import NomosLexer
from tests.lsp.conftest import STEADY, write_project

PIECES = [
    "{",
    "}",
    '"',
    "'",
    ";",
    ":=",
    "(",
    "]",
    "/*",
    "#",
    "🙂",
    "\n",
    "in",
    "forall",
]
PIECES += ["=", "//", "ensures ", "getFeat(x1, ", "x1.", "x1[", "use ", "import ", "\\"]
RICH = STEADY.replace(
    "input x1;",
    "param n := 3;\ndef far(a, b) := !(abs(a - b) < n);\ninput x1;\ninput xs[n];",
).replace(
    "ensures steady",
    "ensures forall i < j in xs: xs[i].town == xs[j].town ==> far(d1, d2);\n"
    'ensures getFeat(x1, "income") in {1, 2} || x1.share in 0..1;\nensures steady',
)


@pytest.fixture(scope="module")
def imports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Imports]:
    folder = tmp_path_factory.mktemp("broken")
    write_project(folder)
    return folder, asyncio.run(import_apart(folder, ["loans"], 60))


def broken(rng: np.random.Generator) -> str:
    """Return a spec from which pieces are cut, and into which others are put."""
    text = RICH
    for _ in range(rng.integers(0, 4)):
        start = int(rng.integers(len(text) + 1))
        end = start + int(rng.integers(12)) * int(rng.integers(2))
        piece = PIECES[rng.integers(len(PIECES))] if rng.integers(2) else ""
        text = text[:start] + piece + text[end:]
    return text


@pytest.mark.parametrize("seed", range(60))
def test_every_question_has_an_answer(imports: tuple[Path, Imports], seed: int) -> None:
    folder, known = imports
    assert known.offer is not None
    rng = np.random.default_rng(seed)
    text = broken(rng)
    document = build_document(folder / "a.nom", text, lambda _: None, lambda *_: known)
    places = Places(document.source, PositionCodec("utf-16"))
    outline.document_symbols(document, places)
    for diagnostic in document.diagnostics:
        fixes_of(diagnostic, document.source)
    for offset in rng.integers(0, len(text) + 1, 12).tolist():
        assert places.offset_of(places.position_of(offset)) == offset
        complete_at(document, offset)
        hover_at(document, offset)
        navigation.find_definition(document, offset)
        navigation.find_references(document, offset, lambda _: None)
    pieces = NomosLexer(stripnl=False, ensurenl=False).get_tokens(text)
    assert "".join(value for _, value in pieces) == text
