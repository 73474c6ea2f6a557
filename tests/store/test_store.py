"""The store: what goes in comes out, whatever is killed, broken or strange."""

import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest
from nomos.campaign.records import BugRecord, CampaignRecord, bug_id
from nomos.campaign.store import Store

from nomos.errors import StoreError

CAMPAIGN = CampaignRecord(
    spec="specs/felony_inc.nom",
    property="felony_inc",
    domain="compas",
    model="models/dt.onnx",
    settings={"size": 3, "mode": "fast"},
    seed=42,
    budget=5000,
    search="random",
    engine="columns",
)
STRANGE = "'; DROP TABLE bugs; -- \0 \N{PILE OF POO} \"\\\n\ud800"


def make_bug(
    *choices: int, seen: int = 1, case: int = 0, campaign: CampaignRecord = CAMPAIGN
) -> BugRecord:
    property, model, settings = campaign.property, campaign.model, campaign.settings
    return BugRecord(
        id=bug_id(property, model, settings, choices),
        campaign=campaign.id,
        spec=campaign.spec,
        property=property,
        model=model,
        settings=settings,
        seed=campaign.seed,
        case=case,
        choices=choices,
        inputs={"x1": {"priors": 1, "age": 20.5}},
        outputs={"d1": "high"},
        failed="d1 <= d2",
        seen=seen,
    )


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / ".nomos") as opened:
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
    id = store.begin(CAMPAIGN)
    (written,) = store.campaigns()
    assert written == replace(CAMPAIGN, id=id, started=written.started)
    assert written.started
    store.checkpoint(id, {"tests": 100, "seconds": 0.5}, 120)
    store.finish(id, "violated", {"tests": 200, "seconds": 1.25})
    finished = store.campaign(id)
    assert finished.counts == {"tests": 200, "seconds": 1.25}
    assert (finished.verdict, finished.next_case) == ("violated", 120)
    assert finished.finished is not None


def test_a_bug_comes_back_as_it_was_written(store: Store) -> None:
    id = store.begin(CAMPAIGN)
    bug = make_bug(3, 2**64 - 1, seen=4, case=17)
    store.add_bugs(id, [bug])
    (found,) = store.bugs()
    assert found == replace(bug, campaign=id)
    assert list(found.inputs["x1"]) == ["priors", "age"]  # in the order of the record


def test_a_seed_may_be_larger_than_an_integer_of_sqlite(store: Store) -> None:
    id = store.begin(replace(CAMPAIGN, seed=2**128 - 1))
    assert store.campaign(id).seed == 2**128 - 1


def test_strange_text_is_stored_as_text(store: Store) -> None:
    text = STRANGE.replace("\ud800", "")
    campaign = replace(CAMPAIGN, spec=text, model=text, settings={STRANGE: STRANGE})
    id = store.begin(campaign)
    bug = replace(
        make_bug(1, campaign=campaign),
        inputs={STRANGE: [STRANGE]},
        outputs={"nan": float("inf")},
        failed=text,
    )
    store.add_bugs(id, [bug])
    assert store.bugs(spec=text, model=text) == [replace(bug, campaign=id)]
    assert store.last_unfinished(text, text, {STRANGE: STRANGE}, 42, 5000) is not None
    with pytest.raises(StoreError, match="no bug"):
        store.bug(text)


@pytest.mark.parametrize("change", [{"spec": "\ud800"}, {"budget": 10**30}])
def test_what_cannot_be_stored_is_refused_with_a_remedy(
    store: Store, change: dict[str, object]
) -> None:
    with pytest.raises(StoreError, match="help: choose a smaller number, or a name"):
        store.begin(replace(CAMPAIGN, **change))  # type: ignore[arg-type]
    assert store.campaigns() == []


def test_a_campaign_that_is_not_there_is_named(store: Store) -> None:
    with pytest.raises(StoreError, match="no campaign 7"):
        store.campaign(7)
    with pytest.raises(StoreError, match="no campaign 7"):
        store.checkpoint(7, {}, 0)


# Bugs


def test_adding_a_bug_twice_keeps_one_with_the_newer_count(store: Store) -> None:
    id = store.begin(CAMPAIGN)
    store.add_bugs(id, [make_bug(1), make_bug(2)])
    store.add_bugs(id, [make_bug(1, seen=5)])
    assert store.bug_counts(id) == {(1,): 5, (2,): 1}
    assert len(store.bugs()) == 2


def test_a_bug_that_two_campaigns_met_is_listed_once_and_counted_for_each(
    store: Store,
) -> None:
    first, second = store.begin(CAMPAIGN), store.begin(replace(CAMPAIGN, seed=43))
    store.add_bugs(first, [make_bug(1, seen=9), make_bug(2)])
    store.add_bugs(second, [make_bug(1, seen=2)])
    assert [(bug.choices, bug.campaign) for bug in store.bugs()] == [
        ((2,), first),
        ((1,), second),
    ]
    assert store.bug(make_bug(1).id).seed == 43
    assert [bug.seen for bug in store.bugs(campaign=first)] == [9, 1]
    assert store.bug_counts(first) == {(1,): 9, (2,): 1}
    assert store.bug_counts(second) == {(1,): 2}


def test_bugs_are_found_by_spec_model_and_status(store: Store) -> None:
    other = replace(CAMPAIGN, spec="specs/other.nom", property="other", model="nn")
    id, other_id = store.begin(CAMPAIGN), store.begin(other)
    store.add_bugs(id, [make_bug(1), make_bug(2)])
    store.add_bugs(other_id, [make_bug(1, campaign=other)])
    store.mark(make_bug(2).id, "fixed")
    assert [bug.choices for bug in store.bugs(spec=CAMPAIGN.spec)] == [(1,), (2,)]
    assert [bug.property for bug in store.bugs(model="nn")] == ["other"]
    assert [bug.choices for bug in store.bugs(status="fixed")] == [(2,)]
    assert store.bugs(spec="specs/other.nom", status="fixed") == []


def test_a_fixed_bug_that_is_found_again_is_open_again(store: Store) -> None:
    first = store.begin(CAMPAIGN)
    store.add_bugs(first, [make_bug(1)])
    store.mark(make_bug(1).id, "fixed")
    assert store.bug(make_bug(1).id).status == "fixed"
    store.add_bugs(store.begin(CAMPAIGN), [make_bug(1)])
    assert store.bug(make_bug(1).id).status == "open"
    assert [bug.status for bug in store.bugs(campaign=first)] == ["open"]


def test_only_a_known_bug_can_be_marked(store: Store) -> None:
    with pytest.raises(StoreError, match="no bug 0123456789"):
        store.mark("0123456789", "fixed")


def test_a_unique_beginning_of_an_id_finds_its_bug(store: Store) -> None:
    id = store.begin(CAMPAIGN)
    bugs = [make_bug(number) for number in range(40)]
    store.add_bugs(id, bugs)
    bug = bugs[7]
    assert store.bug(bug.id[:8]).choices == (7,)
    assert store.bug(bug.id.upper()).choices == (7,)


def test_an_ambiguous_beginning_lists_the_candidates(store: Store) -> None:
    id = store.begin(CAMPAIGN)
    bugs = [make_bug(number) for number in range(40)]
    store.add_bugs(id, bugs)
    with pytest.raises(StoreError, match=r"begins the ids of 40 bugs: .*, …\nhelp"):
        store.bug("")
    first = next(a for a in bugs if sum(b.id[0] == a.id[0] for b in bugs) in (2, 3))
    with pytest.raises(StoreError, match=rf"{first.id} \(felony_inc\)"):
        store.bug(first.id[0])


def test_an_unknown_id_gets_the_nearest_one_and_how_to_list(store: Store) -> None:
    with pytest.raises(StoreError, match=r"no bug `abc`\nhelp: `nomos bugs` lists"):
        store.bug("abc")
    store.add_bugs(store.begin(CAMPAIGN), [make_bug(1)])
    id = make_bug(1).id
    mistyped = id[:4] + id[5] + id[4] + id[6:]
    with pytest.raises(StoreError, match=f"did you mean `{id}`"):
        store.bug(mistyped)


def test_the_id_of_a_bug_never_changes() -> None:
    settings = {"size": 3, "mode": "fast"}
    assert bug_id("felony_inc", "dt.onnx", settings, (1, 2**64 - 1)) == "a59b4805ec"
    assert bug_id(
        "felony_inc", "dt.onnx", dict(reversed(settings.items())), (1, 2**64 - 1)
    ) == bug_id("felony_inc", "dt.onnx", settings, (1, 2**64 - 1))


@pytest.mark.parametrize(
    "other",
    [
        ("other", "m", {"a": 1}, (1, 2)),
        ("p", "other", {"a": 1}, (1, 2)),
        ("p", "m", {"a": 2}, (1, 2)),
        ("p", "m", {"a": 1}, (12,)),
    ],
)
def test_bugs_that_differ_in_anything_have_different_ids(
    other: tuple[str, str, dict[str, int], tuple[int, ...]],
) -> None:
    assert bug_id("p", "m", {"a": 1}, (1, 2)) != bug_id(*other)


def test_our_own_mistakes_are_not_blamed_on_the_file(store: Store) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        store.add_bugs(99, [make_bug(1)])


# Resuming


def test_the_newest_unfinished_campaign_of_the_same_kind_is_resumed(
    store: Store,
) -> None:
    same = (CAMPAIGN.spec, CAMPAIGN.model, {"mode": "fast", "size": 3}, 42, 5000)
    assert store.last_unfinished(*same) is None
    done, older, newer = (store.begin(CAMPAIGN) for _ in range(3))
    store.finish(done, "violated", {})
    for change in ({"seed": 1}, {"budget": 9}, {"model": "m"}, {"settings": {}}):
        store.begin(replace(CAMPAIGN, **change))  # type: ignore[arg-type]
    found = store.last_unfinished(*same)
    assert found is not None and found.id == newer
    store.finish(newer, "violated", {})
    found = store.last_unfinished(*same)
    assert found is not None and found.id == older


def test_a_checkpoint_that_fails_leaves_the_one_before(store: Store) -> None:
    def breaks():
        yield make_bug(2)
        raise KeyboardInterrupt

    id = store.begin(CAMPAIGN)
    store.checkpoint(id, {"tests": 1}, 10, bugs=[make_bug(1)])
    with pytest.raises(KeyboardInterrupt):
        store.checkpoint(id, {"tests": 2}, 20, bugs=breaks())
    assert store.campaign(id).next_case == 10
    assert store.bug_counts(id) == {(1,): 1}


def test_a_process_killed_in_the_middle_of_writing_leaves_what_it_committed(
    tmp_path: Path,
) -> None:
    writer = other_process(
        """
        def endless():
            for number in range(100, 5000):
                yield make_bug(number)
            print("writing", flush=True)
            time.sleep(60)

        store = Store.open(Path(sys.argv[1]))
        id = store.begin(CAMPAIGN)
        store.checkpoint(id, {"tests": 3}, 3, bugs=[make_bug(1, seen=2), make_bug(2)])
        store.checkpoint(id, {"tests": 9}, 9, bugs=endless())
        """,
        str(tmp_path),
    )
    with writer:
        assert writer.stdout is not None and writer.stdout.readline() == "writing\n"
        writer.send_signal(signal.SIGKILL)
    with Store.open(tmp_path) as store:
        found = store.last_unfinished(
            CAMPAIGN.spec, CAMPAIGN.model, dict(CAMPAIGN.settings), 42, 5000
        )
        assert found is not None
        assert (found.next_case, found.counts) == (3, {"tests": 3})
        assert store.bug_counts(found.id) == {(1,): 2, (2,): 1}
        store.checkpoint(found.id, {"tests": 4}, 4)  # and it can be gone on with


def test_processes_that_open_and_write_at_once_lose_nothing(tmp_path: Path) -> None:
    writers = [
        other_process(
            """
            print("ready", flush=True)
            while not (Path(sys.argv[1]) / "go").exists():
                time.sleep(0.001)
            for number in range(50):
                with Store.open(Path(sys.argv[1]) / "store") as store:
                    id = store.begin(CAMPAIGN)
                    for case in range(4):
                        store.checkpoint(id, {}, case, bugs=[make_bug(number, case)])
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
        assert [one.next_case for one in store.campaigns()] == [3] * 150
        assert len(store.bugs()) == 200


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
