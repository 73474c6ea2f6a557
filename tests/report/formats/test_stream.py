from __future__ import annotations

import io
import json

from nomos.report.formats.stream import EventStream
from nomos.results.result import Counts, Crash
from nomos.runner.driver import Driver
from nomos.runner.events import Crashed, Progress
from nomos.runner.jobs import Job
from nomos.runner.options import Options


def lines(file: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in file.getvalue().splitlines()]


def test_events_come_as_lines_of_json(project):
    file = io.StringIO()
    options = Options(default_budget=300, search="random")
    driver = Driver(project.folder, options, handlers=[EventStream(file).handle])
    driver.run([Job(project.folder / "specs" / "income.nom")], [4])
    told = lines(file)
    assert (told[0]["event"], told[-1]["event"]) == ("started", "finished")
    assert told[0]["budget"] == 300 and told[0]["search"] == "random"
    assert told[-1]["verdict"] == "violated" and told[-1]["tests"] == 300
    assert "bugs" not in told[-1] and "text" not in told[-1]
    found = [line for line in told if line["event"] == "bug"]
    assert found[0]["inputs"]["x1"]["town"] in ("Aix", "Bern", "Cork")
    for line in told:
        assert (line["spec"], line["property"]) == ("specs/income.nom", "income")
        assert (line["model"], line["seed"]) == ("bumpy", 4)


def test_crashes_and_progress_say_what_happened(result):
    file = io.StringIO()
    stream, subject = EventStream(file), result().subject
    stream.handle(Crashed(subject, 1, Crash(7, (1,), "ValueError: no", "Traceback")))
    stream.handle(Progress(subject, 1, Counts(tests=9, crashed=2), 11))
    crash, progress = lines(file)
    assert (crash["event"], crash["error"]) == ("crash", "ValueError: no")
    assert (progress["crashed"], progress["next_case"]) == (2, 11)
