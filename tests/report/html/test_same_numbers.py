"""What a page says of one fact it says alike wherever it says it, for any results."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from nomos.report.html.page import html_page
from nomos.results.result import Proof

# Words around a number, and the fact that it is; the page is read as text.
FACTS = {
    "bugs": r"([\d,.]+)(?: ± [\d,.]+)? unique bugs?",
    "bugs in the table": r"bugs-cell\)([\d,.]+)",
    "bugs in isolation and batches": r"(?<!\d: )(?<![\d,])([\d,]+) bugs?: \d+ failed again",
    "rate": r"(?:^|[^\d,.])([\d,]+ of [\d,]+): [\d.]+ %",
    "interval": r"\d: ([\d.]+ % \([\d.]+ % to [\d.]+ %)",
}
SAME = {
    "bugs in the table": "bugs",
    "bugs in isolation and batches": "bugs",
}
counts = st.integers(0, 12)


def text_of(page: str) -> str:
    """Return what can be read of a page; a cell of bugs is marked."""
    body = page.partition("<body>")[2].partition("<script>")[0]
    body = re.sub(r'<td[^>]*class="[^"]*(bugs-cell)"[^>]*>', r" \1)", body)
    plain = html.unescape(re.sub(r"<[^>]*>", " ", body))
    return re.sub(r"\s+", " ", plain.replace("\N{NO-BREAK SPACE}", " "))


def numbers_of(text: str) -> dict[str, set[str]]:
    """Return the values that a text has of each fact."""
    found = defaultdict(set)
    for fact, pattern in FACTS.items():
        values = re.findall(pattern, text)
        found[SAME.get(fact, fact)] |= {re.sub(r"\.0$", "", value) for value in values}
    return found


def wrong_plurals(text: str) -> Iterator[str]:
    for number, noun in re.findall(r"(?<![\d,.])([\d,]*\d) ((?:unique )?\w+)", text):
        if noun.split()[-1] in ("bugs", "cases", "violations", "seeds", "calls"):
            if number == "1":
                yield f"1 {noun}"
        elif noun.split()[-1] in ("bug", "case", "violation", "call") and number != "1":
            yield f"{number} {noun}"


@st.composite
def found_in_one_property(draw, bug, result):
    """Draw the results of one property: seeds, bugs, flaky cases, discarded ones."""
    seeds, made = draw(st.integers(1, 3)), []
    search = draw(st.sampled_from(["random", "exhaustive", "guided"]))
    for seed in range(seeds):
        bugs = [bug(n) for n in range(draw(counts))]
        later = draw(counts) if bugs else 0
        alone = draw(st.integers(min(1, len(bugs)), len(bugs)))
        made.append(
            result(
                *bugs,
                seed=seed,
                search=search,
                tests=300,
                passed=300 - len(bugs) - later,
                violations=len(bugs) + later,
                unique_bugs=len(bugs) + later,
                new_bugs=len(bugs) + later,
                confirmed=alone,
                isolated_reruns=alone,
                repeated=len(bugs) + later - alone,
                flaky=draw(st.integers(0, 2)),
                discarded=draw(counts),
                margins={1.0: len(bugs) + later} if bugs else {},
            )
        )
    return made


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_number_of_one_fact_is_equal(bug, result, data):
    made = data.draw(found_in_one_property(bug, result))
    text = text_of(html_page(made))
    differ = {fact: found for fact, found in numbers_of(text).items() if len(found) > 1}
    assert not differ
    assert list(wrong_plurals(text)) == []


def test_the_case_of_a_proof_is_a_bug_wherever_bugs_are_counted(bug, result):
    witness = bug(7, case=-1)
    nothing = {"tests": 0, "passed": 0, "seconds": 0.0, "search": "proof"}
    proof = Proof("violated", cases=9, violating=(1, 1), witness=witness)
    made = result(**nothing, proof=proof)
    text = text_of(html_page([made]))
    assert numbers_of(text)["bugs"] == {"1"}
    assert "0 case" not in text and "0 bug" not in text
    assert "Bugs 1" in text


def test_words_in_backticks_are_code_and_no_backtick_is_left(bug, result):
    made = result(bug(), description="A `higher` income is no <b>risk</b>.")
    page = html_page([made])
    assert "A <code>higher</code> income is no &lt;b&gt;risk" in page
    assert "`" not in text_of(page)
