"""`nomos report`: the page of what the store remembers."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from nomos.campaign.records import CampaignRecord
from nomos.report.html_stored import newest

from nomos.cli import cli
from nomos.cli.report import command
from nomos.errors import StoreError

Read = Callable[[str], Any]

FRAGILE = '''
from pathlib import Path

from nomos import Domain, DomainError

LIMIT = Path(__file__).with_name("limit.txt")


class Fragile(Domain):
    """Numbers, and a model that is a file."""

    def __init__(self) -> None:
        if not LIMIT.exists():
            raise DomainError("limit.txt is gone")
        self.limit = int(LIMIT.read_text())

    def inputs(self):
        return [{"size": size, "name": f"box {size}"} for size in range(20)]

    def fits(self, box) -> bool:
        return box["size"] < self.limit

    def show(self, record):
        return None
'''


@pytest.fixture
def fragile(project: Any) -> Path:
    """Run a property whose model can be taken away; return the model's file."""
    limit: Path = project.folder / "limit.txt"
    limit.write_text("10")
    (project.folder / "fragile.py").write_text(FRAGILE)
    spec = "import fragile; input x1; output d1; { d1 = fits(x1) } ensures d1;"
    run(str(project.spec("fragile", spec)))
    return limit


def run(*arguments: str) -> None:
    CliRunner().invoke(cli, ["run", "--quiet", *arguments], catch_exceptions=False)


def report(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments), catch_exceptions=False)


def page(name: str = "nomos-report.html") -> str:
    return Path(name).read_text(encoding="utf-8")


def test_page_has_what_the_run_found(project: Any, read: Read) -> None:
    run("specs", "--html", "run.html")
    done = report("-o", "stored.html")
    assert done.exit_code == 0
    assert done.stdout.startswith("wrote stored.html: 1 property, ")
    assert read(page("run.html")).data == read(page("stored.html")).data


def test_rate_and_chance_of_a_random_search_are_those_of_the_run(
    project: Any, read: Read
) -> None:
    run("specs", "--search", "random", "--budget", "100", "--html", "run.html")
    report("-o", "stored.html")
    facts = [
        page(name).partition("<dl")[2].partition("<figure")[0]
        for name in ("run.html", "stored.html")
    ]
    assert "The next case shows a new bug" in facts[0]
    assert facts[0] == facts[1]


def test_newest_campaign_of_each_property_and_model_is_taken(
    project: Any, read: Read
) -> None:
    run("specs", "--model", "bumpy", "--seed", "1")
    run("specs", "--model", "smooth")
    run("specs", "--model", "bumpy", "--seed", "3")
    report()
    lines = read(page()).data
    assert [(line["model"], line["verdict"]) for line in lines] == [
        ("bumpy", "violated"),
        ("smooth", "holds"),
    ]
    assert {bug[5] for bug in lines[0]["bugs"]} == {3}


def campaign(id: int, finished: str | None, model: str = "m") -> CampaignRecord:
    return CampaignRecord(
        spec="a.nom",
        property="a",
        domain="D",
        model=model,
        settings={},
        seed=0,
        budget=1,
        search="random",
        engine="rows",
        id=id,
        finished=finished,
    )


def test_campaign_that_ended_is_taken_before_one_that_was_killed_later() -> None:
    campaigns = [campaign(1, "then"), campaign(2, "then"), campaign(3, None)]
    assert [found.id for found in newest(campaigns)] == [2]
    other = campaign(4, None, model="n")
    assert [found.id for found in newest([*campaigns, other])] == [2, 4]


def test_spec_that_is_gone_is_shown_as_recorded(project: Any, read: Read) -> None:
    run("specs")
    before = report("-o", "before.html")
    (project.folder / "specs" / "income.nom").unlink()
    after = report("-o", "after.html")
    assert before.stderr == ""
    assert "specs/income.nom is not there any more" in after.stderr
    assert "The spec is not there any more." in page("after.html")
    (old,), (new,) = read(page("before.html")).data, read(page("after.html")).data
    assert new["bugs"] == old["bugs"]


def test_model_that_is_gone_is_shown_as_recorded(fragile: Path, read: Read) -> None:
    fragile.unlink()
    done = report()
    assert done.exit_code == 0
    assert "is shown as recorded: " in done.stderr
    assert "limit.txt is gone" in done.stderr
    (line,) = read(page()).data
    assert len(line["bugs"]) == 10
    assert line["forms"][0]["fields"] == ["size", "name"]


def test_bug_that_the_model_no_longer_has_is_shown_as_recorded(
    fragile: Path, read: Read
) -> None:
    report("-o", "before.html")
    fragile.write_text("15")
    report("-o", "after.html")
    assert read(page("after.html")).data == read(page("before.html")).data


def test_condition_that_is_no_longer_in_the_spec_is_shown_as_recorded(
    project: Any, read: Read
) -> None:
    run("specs")
    path = project.folder / "specs" / "income.nom"
    path.write_text(path.read_text().replace("d1 <= d2", "d2 >= d1"))
    done = report()
    assert done.exit_code == 0
    assert read(page()).data[0]["failed"] == ["d1 <= d2"]
    assert 'class="line failed"' not in page()


def test_campaign_that_was_killed_says_so(project: Any, read: Read) -> None:
    run("specs")
    with sqlite3.connect(".nomos/nomos.db") as database:
        database.execute("UPDATE campaigns SET finished = NULL, verdict = NULL")
    database.close()
    report()
    assert "Interrupted after" in page()
    assert read(page()).data[0]["verdict"] == "violated"


def test_store_without_a_campaign_is_an_error(project: Any) -> None:
    with pytest.raises(StoreError, match=r"there is no \.nomos"):
        report()
    run("specs", "--model", "smooth")
    with sqlite3.connect(".nomos/nomos.db") as database:
        database.execute("DELETE FROM campaigns")
    database.close()
    with pytest.raises(StoreError, match="holds no campaign"):
        report()
