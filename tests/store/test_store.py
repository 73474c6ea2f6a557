"""The store: what goes in comes out, whatever is killed, broken or strange."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from nomos.errors import StoreError
from nomos.results.analysis import Shrunk, ShrunkRecord
from nomos.results.bugs import bug_id
from nomos.results.result import (
    Bug,
    Counts,
    Ensures,
    Nearest,
    Proof,
    Result,
    Subject,
)
from nomos.results.verdict import with_proof
from nomos.store.rows import BugRecord, Row
from nomos.store.store import Store

SUBJECT = Subject(
    spec="specs/felony_inc.nom",
    property="felony_inc",
    domain="Compas",
    model="models/dt.onnx",
    settings={"size": "3", "mode": "fast"},
    outputs=("d1", "d2"),
    ensures=(Ensures("1", "d1 <= d2", 9),),
)
RESULT = Result(SUBJECT, 42, 5000, mode="vectorized")
STRANGE = "'; DROP TABLE bugs; -- \0 \N{PILE OF POO} \"\\\n\ud800"


def make_bug(*choices: int, subject: Subject = SUBJECT, **changes: Any) -> Bug:
    """Return a bug; its case number is its first choice unless told otherwise."""
    bug = Bug(
        id=bug_id(subject.spec, subject.model, subject.settings, choices),
        case=choices[0],
        choices=choices,
        failed="d1 <= d2",
        failures=(0,),
        inputs={"x1": {"priors": 1, "age": 20.5}},
        outputs={"d1": "high"},
    )
    return replace(bug, **changes)


def row(bug: Bug, how: int = 0) -> Row:
    """Return a bug as a campaign keeps it."""
    return Row(bug, how)


def add(store: Store, campaign: int, *bugs: Bug, **more: Any) -> None:
    """Write bugs of a campaign."""
    store.checkpoint(campaign, RESULT, {}, new=[row(bug) for bug in bugs], **more)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "project" / ".nomos") as opened:
        yield opened


def other_process(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a script that has the names of this file, with a pipe to hear from it."""
    preamble = dedent(f"""\
        import sys, time
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_store import *
        """)
    return subprocess.Popen(
        [sys.executable, "-c", preamble + dedent(script), *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )


# Round trips


def test_a_campaign_comes_back_as_it_was_written(store: Store) -> None:
    id = store.begin(RESULT)
    assert store.newest() == [RESULT]
    counts = Counts(tests=200, violations=3, seconds=1.25)
    done = replace(RESULT, counts=counts, verdict="violated", reason="it was enough")
    store.checkpoint(id, done, {"next_case": 3}, finished=True)
    assert store.newest() == [done]


def test_bugs_come_back_as_they_were_written(store: Store) -> None:
    id = store.begin(RESULT)
    bugs = [
        make_bug(3, 2**64 - 1, seen=4, case=17, margin=1.5, is_new=False),
        make_bug(4, confirmed="batch", inputs={}, outputs={}),
        make_bug(5, failures=(0, 2)),
        make_bug(6, records=((1.5, 20.0),), nearest=(Nearest(3, ("age",)),)),
    ]
    made = row(bugs[3])
    rows = [made, row(bugs[0]), row(bugs[1], how=1), row(bugs[2])]
    # A violation that did not fail again.
    gone = Row(Bug("", 99, (9, 9), "", (0,), seen=2, confirmed="batch"), 2)
    store.checkpoint(id, RESULT, {}, new=[*rows, gone])
    assert store.rows(id) == sorted([*rows, gone], key=lambda one: one.bug.case)
    found = sorted(store.bugs(), key=lambda record: record.bug.choices)
    assert [record.bug for record in found] == bugs
    assert list(found[0].bug.inputs["x1"]) == ["priors", "age"]  # in the record's order
    plain = Subject(
        SUBJECT.spec, SUBJECT.property, model=SUBJECT.model, settings=SUBJECT.settings
    )
    assert found[0] == BugRecord(bugs[0], plain, 42, "open", id)
    assert store.newest()[0].bugs == tuple(sorted(bugs, key=lambda bug: bug.case))


def test_a_seed_may_be_larger_than_an_integer_of_sqlite(store: Store) -> None:
    id = store.begin(replace(RESULT, seed=2**128 - 1))
    assert store.newest()[0].seed == 2**128 - 1
    add(store, id, make_bug(1))
    assert store.bugs()[0].seed == 2**128 - 1


def test_strange_text_is_stored_as_text(store: Store) -> None:
    text = STRANGE.replace("\ud800", "")
    subject = replace(SUBJECT, spec=text, model=text, settings={STRANGE: STRANGE})
    result = replace(RESULT, subject=subject)
    id = store.begin(result)
    bug = make_bug(
        1,
        subject=subject,
        inputs={STRANGE: [STRANGE]},
        outputs={"nan": float("inf")},
        failed=text,
    )
    store.checkpoint(id, result, {}, new=[row(bug)])
    assert [r.bug for r in store.bugs(spec=text, model=text)] == [bug]
    assert store.find_unfinished(subject, 42, 5000, "random") is not None
    with pytest.raises(StoreError, match="no bug"):
        store.bug(text)


@pytest.mark.parametrize(
    "change", [{"subject": replace(SUBJECT, spec="\ud800")}, {"budget": 10**30}]
)
def test_what_cannot_be_stored_is_refused_with_a_remedy(
    store: Store, change: dict[str, Any]
) -> None:
    with pytest.raises(StoreError, match="help: choose a smaller number, or a name"):
        store.begin(replace(RESULT, **change))
    assert store.newest() == []


def test_a_campaign_that_is_not_there_is_named(store: Store) -> None:
    with pytest.raises(StoreError, match="no campaign 7"):
        store.checkpoint(7, RESULT, {})


# Bugs


def test_how_often_a_bug_was_met_is_brought_up_to_date(store: Store) -> None:
    id = store.begin(RESULT)
    add(store, id, make_bug(1), make_bug(2))
    add(store, id, seen=[(1, 5)])
    assert [(r.bug.choices, r.bug.seen) for r in store.bugs()] == [((1,), 5), ((2,), 1)]


def test_a_smaller_case_is_kept_with_its_bug(store: Store) -> None:
    id = store.begin(RESULT)
    add(store, id, make_bug(1), make_bug(2))
    record = ShrunkRecord(4, {"age": 20.5})
    small = Shrunk((record,), (3,), "d1 <= d2", None, {"x1": 1}, {"d1": 0}, 9)
    add(store, id, shrunk=[make_bug(2, shrunk=small)])
    assert [record.bug.shrunk for record in store.bugs()] == [None, small]


def test_a_bug_that_two_campaigns_met_is_listed_once_and_counted_for_each(
    store: Store,
) -> None:
    first, second = store.begin(RESULT), store.begin(replace(RESULT, seed=43))
    add(store, first, make_bug(1, seen=9), make_bug(2))
    add(store, second, make_bug(1, seen=2))
    listed = [(record.bug.choices, record.campaign) for record in store.bugs()]
    assert listed == [((2,), first), ((1,), second)]
    assert store.count_bugs() == store.count_bugs(property="felony_inc") == 2
    assert store.bug(make_bug(1).id).seed == 43
    assert [one.bug.seen for one in store.rows(first)] == [9, 1]
    assert [one.bug.seen for one in store.rows(second)] == [2]
    assert [r.bug.choices for r in store.bugs(before=second)] == [(2,)]


def test_bugs_are_found_by_spec_model_and_status(store: Store) -> None:
    other = replace(SUBJECT, spec="specs/other.nom", property="other", model="nn")
    id, other_id = store.begin(RESULT), store.begin(replace(RESULT, subject=other))
    add(store, id, make_bug(1), make_bug(2))
    add(store, other_id, make_bug(1, subject=other))
    store.mark(make_bug(2).id, "fixed")
    assert [r.bug.choices for r in store.bugs(spec=SUBJECT.spec)] == [(1,), (2,)]
    assert [r.subject.property for r in store.bugs(model="nn")] == ["other"]
    assert [r.bug.choices for r in store.bugs(status="fixed")] == [(2,)]
    assert store.bugs(spec="specs/other.nom", status="fixed") == []
    assert store.count_bugs(property="other", status="fixed") == 0
    assert store.count_bugs(property="felony_inc", status="fixed") == 1
    assert len(store.bugs(limit=2)) == 2


def test_two_specs_of_one_name_in_different_folders_have_their_own_bugs(
    store: Store,
) -> None:
    there = replace(SUBJECT, spec="other/felony_inc.nom")
    first, second = store.begin(RESULT), store.begin(replace(RESULT, subject=there))
    assert [one.subject.spec for one in store.newest()] == [there.spec, SUBJECT.spec]
    add(store, first, make_bug(1))
    add(store, second, make_bug(1, subject=there))
    assert len({record.bug.id for record in store.bugs()}) == 2
    assert store.count_bugs() == 2


def test_a_fixed_bug_that_is_found_again_is_open_again(store: Store) -> None:
    add(store, store.begin(RESULT), make_bug(1))
    store.mark(make_bug(1).id, "fixed")
    assert store.bug(make_bug(1).id).status == "fixed"
    add(store, store.begin(RESULT), make_bug(1))
    assert store.bug(make_bug(1).id).status == "open"


def test_an_id_that_is_no_text_is_near_to_none(store: Store) -> None:
    for number in (1, 2):
        add(store, store.begin(RESULT), make_bug(number))
    query = "UPDATE bugs SET id = x'ff00' WHERE id = ?"
    store._connection.execute(query, (make_bug(1).id,))
    with pytest.raises(StoreError, match="no bug `0123456789`"):
        store.bug("0123456789")


def test_only_a_known_bug_can_be_marked(store: Store) -> None:
    with pytest.raises(StoreError, match="no bug 0123456789"):
        store.mark("0123456789", "fixed")


def test_violations_that_did_not_come_back_are_no_bugs(store: Store) -> None:
    id = store.begin(RESULT)
    gone = [Row(Bug("", n, (n,), "", (0,)), how) for n, how in enumerate((2, 3))]
    store.checkpoint(id, RESULT, {}, new=gone)
    assert len(store.rows(id)) == 2
    assert store.bugs() == []
    assert store.count_bugs() == 0
    assert store.newest()[0].bugs == ()
    with pytest.raises(StoreError, match="no bug"):
        store.bug("")


def test_a_unique_beginning_of_an_id_finds_its_bug(store: Store) -> None:
    bugs = [make_bug(number) for number in range(40)]
    add(store, store.begin(RESULT), *bugs)
    assert store.bug(bugs[7].id[:8]).bug == bugs[7]
    assert store.bug(bugs[7].id.upper()).bug == bugs[7]


def test_an_ambiguous_beginning_lists_candidates(store: Store) -> None:
    bugs = [make_bug(number) for number in range(40)]
    add(store, store.begin(RESULT), *bugs)
    with pytest.raises(
        StoreError, match=r"begins the ids of several bugs: .*, …\nhelp"
    ):
        store.bug("")
    first = next(a for a in bugs if sum(b.id[0] == a.id[0] for b in bugs) in (2, 3))
    with pytest.raises(StoreError, match=rf"{first.id} \(felony_inc\)"):
        store.bug(first.id[0])


def test_an_unknown_id_gets_the_nearest_one_and_how_to_list(store: Store) -> None:
    with pytest.raises(StoreError, match=r"no bug `abc`\nhelp: `nomos bugs` lists"):
        store.bug("abc")
    add(store, store.begin(RESULT), make_bug(1))
    id = make_bug(1).id
    mistyped = id[:4] + id[5] + id[4] + id[6:]
    with pytest.raises(StoreError, match=f"did you mean `{id}`"):
        store.bug(mistyped)


def test_our_own_mistakes_are_not_blamed_on_the_file(store: Store) -> None:
    id = store.begin(RESULT)
    add(store, id, make_bug(1))
    with pytest.raises(sqlite3.IntegrityError):
        add(store, id, make_bug(1))


# Results


def test_a_campaign_that_ended_is_shown_before_a_later_one_that_did_not(
    store: Store,
) -> None:
    ended = store.begin(replace(RESULT, seed=1))
    store.checkpoint(ended, replace(RESULT, seed=1), {}, finished=True)
    store.begin(replace(RESULT, seed=2))
    assert [one.seed for one in store.newest()] == [1]
    later = store.begin(replace(RESULT, seed=3))
    store.checkpoint(later, replace(RESULT, seed=3), {}, finished=True)
    assert [one.seed for one in store.newest()] == [3]


def test_each_model_and_setting_has_its_newest_result(store: Store) -> None:
    for change in ({}, {"model": "nn"}, {"settings": {}}, {"spec": "specs/b.nom"}):
        store.begin(replace(RESULT, subject=replace(SUBJECT, **change)))
        store.begin(replace(RESULT, subject=replace(SUBJECT, **change)))
    assert len(store.newest()) == 4


def test_a_proof_is_shown_beside_the_cases_that_were_tried_of_the_same(
    store: Store,
) -> None:
    def write(result: Result) -> Result:
        store.checkpoint(store.begin(result), result, {}, finished=True)
        return result

    proof = Proof("holds")
    plain = replace(RESULT, search="proof", verdict="holds", proof=proof)
    proved = write(replace(plain, fingerprint={"model": "a"}))
    assert store.newest() == [proved]  # nothing was tried
    tested = replace(RESULT, verdict="none-found", fingerprint={"model": "a"})
    write(tested)
    assert store.newest() == [with_proof(tested, proof)]
    other = write(replace(tested, fingerprint={"model": "b"}))
    assert store.newest() == [other]  # the later one, of another model
    later = write(replace(plain, fingerprint={"model": "c"}))
    assert store.newest() == [later]


# Resuming


def test_the_newest_unfinished_campaign_of_the_same_kind_is_resumed(
    store: Store,
) -> None:
    def found() -> int | None:
        turned = replace(SUBJECT, settings={"mode": "fast", "size": "3"})
        unfinished = store.find_unfinished(turned, 42, 5000, "random")
        return None if unfinished is None else unfinished.id

    assert found() is None
    done, older, newer = (store.begin(RESULT) for _ in range(3))
    store.checkpoint(done, RESULT, {}, finished=True)
    for change in ({"seed": 1}, {"budget": 9}, {"search": "exhaustive"}):
        store.begin(replace(RESULT, **change))
    for other in ({"model": "m"}, {"settings": {}}, {"spec": "other/felony_inc.nom"}):
        store.begin(replace(RESULT, subject=replace(SUBJECT, **other)))
    assert found() == newer
    store.checkpoint(newer, RESULT, {}, finished=True)
    assert found() == newer  # its reports may be missing
    store.mark_reported([RESULT])
    assert found() == older
    state = {"next_case": 7, "reasons": {"x > 3": 2}}
    counted = replace(RESULT, counts=Counts(tests=5))
    store.checkpoint(older, counted, state)
    unfinished = store.find_unfinished(SUBJECT, 42, 5000, "random")
    assert unfinished is not None
    assert (unfinished.result, unfinished.state) == (counted, state)


def test_a_checkpoint_that_fails_leaves_the_one_before(store: Store) -> None:
    def breaks() -> Iterator[tuple[int, int]]:
        yield 1, 99
        raise KeyboardInterrupt

    id = store.begin(RESULT)
    add(store, id, make_bug(1))
    with pytest.raises(KeyboardInterrupt):
        store.checkpoint(id, RESULT, {}, new=[row(make_bug(2))], seen=breaks())
    assert [(r.bug.choices, r.bug.seen) for r in store.bugs()] == [((1,), 1)]


def test_a_process_killed_in_the_middle_of_writing_leaves_what_it_committed(
    tmp_path: Path,
) -> None:
    writer = other_process(
        """
        def endless():
            for number in range(5000):
                yield number, 7
            print("writing", flush=True)
            time.sleep(60)

        store = Store.open(Path(sys.argv[1]))
        id = store.begin(RESULT)
        rows = [row(make_bug(1, seen=2)), row(make_bug(2))]
        store.checkpoint(id, RESULT, {"next_case": 3}, new=rows)
        store.checkpoint(id, RESULT, {"next_case": 9}, new=[row(make_bug(3))], seen=endless())
        """,
        str(tmp_path),
    )
    with writer:
        assert writer.stdout is not None and writer.stdout.readline() == "writing\n"
        writer.send_signal(signal.SIGKILL)
    with Store.open(tmp_path) as store:
        found = store.find_unfinished(SUBJECT, 42, 5000, "random")
        assert found is not None and found.state == {"next_case": 3}
        assert [(r.bug.choices, r.bug.seen) for r in store.rows(found.id)] == [
            ((1,), 2),
            ((2,), 1),
        ]
        store.checkpoint(found.id, RESULT, {})  # and it can be gone on with


def test_processes_that_open_and_write_at_once_lose_nothing(tmp_path: Path) -> None:
    writers = [
        other_process(
            """
            print("ready", flush=True)
            while not (Path(sys.argv[1]) / "go").exists():
                time.sleep(0.001)
            for number in range(20):
                with Store.open(Path(sys.argv[1]) / "store") as store:
                    id = store.begin(RESULT)
                    for case in range(4):
                        bug = make_bug(number, case, case=case)
                        store.checkpoint(id, RESULT, {"next": case}, new=[row(bug)])
            """,
            str(tmp_path),
        )
        for _ in range(3)
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    (tmp_path / "go").touch()
    for writer in writers:
        assert writer.wait(timeout=60) == 0
        writer.__exit__(None, None, None)
    with Store.open(tmp_path / "store") as store:
        assert len(store.bugs()) == 80
        assert [len(store.rows(id)) for id in range(1, 61)] == [4] * 60


# Where it is


def test_a_store_that_should_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(
        StoreError, match=r"no store at .*\nhelp: `nomos run` makes one"
    ):
        Store.open(tmp_path / ".nomos", create=False)
    assert not (tmp_path / ".nomos").exists()


def test_a_gitignore_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*\n", encoding="ascii")
    Store.open(tmp_path).close()
    assert (tmp_path / ".gitignore").read_text("ascii") == "*\n"
