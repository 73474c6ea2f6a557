"""Results as one HTML page: no network, no library, everything in the file.

The overview and the properties are plain HTML; cards of bugs are made from JSON by
the page's script, as many as are looked at, so that a page with very many opens soon.
The page's policy lets only its own script and style run, by their checksums.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib import resources
from pathlib import Path

from nomos import __version__
from nomos.campaign.result import Result
from nomos.report.html_bugs import BugWriter, Room
from nomos.report.html_chapters import Chapter, chapters_of
from nomos.report.html_overview import overview
from nomos.report.html_sections import section
from nomos.report.html_text import count, text, to_json
from nomos.report.summary import Unstarted, lines_of

_SCRIPTS = ("text.js", "cards.js", "script.js")


def write_html(results: Sequence[Result], path: Path) -> None:
    """Write the page of these results, whole or not at all."""
    unfinished = path.with_name(path.name + ".tmp")
    unfinished.write_text(html(results), encoding="utf-8", newline="\n")
    unfinished.replace(path)


def html(
    results: Sequence[Result],
    unstarted: Sequence[Unstarted] = (),
    *,
    made: datetime | None = None,
) -> str:
    """Return the page, made now or at that time."""
    chapters = chapters_of(lines_of(results))
    writers = write_bugs(chapters)
    sections = [
        section(chapter, writer)
        for chapter, writer in zip(chapters, writers, strict=True)
    ]
    parts = {
        "brand": "Nomos report",
        "headline": text(_headline(chapters, len(unstarted))),
        "totals": text(_totals(chapters)),
        "overview": _notices(unstarted) + overview(chapters),
        "sections": "\n".join(sections),
        "data": page_data(chapters, writers),
    }
    return page(parts, made)


def _notices(unstarted: Sequence[Unstarted]) -> str:
    return "".join(
        f'<p class="notice"><b>{text(path)}</b> could not be run: {text(why)}</p>'
        for path, why in unstarted
    )


def page(parts: Mapping[str, str], made: datetime | None) -> str:
    """Return a page with these parts in its places."""
    made = made or datetime.now(UTC)
    script = "".join(_template(name) for name in _SCRIPTS)
    script = f"\n'use strict';\n(() => {{\n{script}}})();\n"
    style = "\n" + _template("style.css")
    return _filled(
        _template("page.html"),
        {
            "policy": _policy(script, style),
            "made": f"{made:%Y-%m-%d %H:%M} UTC",
            "version": text(__version__),
            "style": style,
            "script": script,
            **parts,
        },
    )


def write_bugs(chapters: Sequence[Chapter]) -> list[BugWriter]:
    """Write the bugs of all properties.

    Those with few bugs come first: what they do not need, the others may have.
    """
    room, writers = Room(), {}
    in_turn = sorted(chapters, key=lambda chapter: len(chapter.bugs))
    for number, chapter in enumerate(in_turn):
        share = room.share(len(chapters) - number)
        before = Room(share.bugs, share.values, share.pictures)
        writer = BugWriter(chapter.first.subject, share)
        for found in chapter.bugs:
            writer.add(found)
        room.bugs -= len(writer.rows)
        room.values -= before.values - share.values
        room.pictures -= before.pictures - share.pictures
        writers[chapter.key] = writer
    return [writers[chapter.key] for chapter in chapters]


def page_data(chapters: Sequence[Chapter], writers: Sequence[BugWriter]) -> str:
    """Return what the page's script reads."""
    lines = []
    for chapter, writer in zip(chapters, writers, strict=True):
        subject = chapter.first.subject
        head = to_json(
            {
                "key": chapter.key,
                "name": subject.spec.name,
                "model": subject.model,
                "verdict": chapter.line.verdict,
                "seeds": len(chapter.line.results),
            }
        )
        lines.append(f"{head[:-1]},{writer.data()}}}")
    return "[" + ",\n".join(lines) + "]"


def _headline(chapters: Sequence[Chapter], unstarted: int) -> str:
    violated = sum(chapter.line.verdict == "violated" for chapter in chapters)
    failed = sum(chapter.line.verdict == "failed" for chapter in chapters)
    properties = len({chapter.first.subject.path for chapter in chapters})
    models = len({chapter.first.subject.model for chapter in chapters})
    named = count(properties, "property", "properties")
    if properties == len(chapters):
        said = f"{violated} of {named} {'is' if violated == 1 else 'are'} violated"
    else:
        said = f"{violated} of {len(chapters)} violated: {named} on {models} models"
    said += f", {failed} without a verdict" if failed else ""
    return said + (f", {unstarted} could not be run" if unstarted else "")


def _totals(chapters: Sequence[Chapter]) -> str:
    results = [result for chapter in chapters for result in chapter.line.results]
    bugs = sum(len(chapter.bugs) for chapter in chapters)
    tests = sum(result.counts.tests for result in results)
    seconds = sum(result.counts.seconds for result in results)
    said = [f"{count(bugs, 'unique bug')} in {count(tests, 'case')}, {seconds:,.1f} s"]
    searches = {chapter.first.search for chapter in chapters}
    seeds = {chapter.seeds for chapter in chapters}
    if len(searches) == 1:
        said.append(f"{searches.pop()} search")
    if len(seeds) == 1:
        said.append(f"seed {seeds.pop()}")
    return ", ".join(said)


def _policy(script: str, style: str) -> str:
    """Return what the page may do: run its own script, show what is inside it."""
    hashes = [
        b64encode(sha256(part.encode()).digest()).decode() for part in (script, style)
    ]
    return (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}';"
        f" style-src 'sha256-{hashes[1]}'; img-src data:; media-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _template(name: str) -> str:
    folder = resources.files("nomos.report").joinpath("templates")
    return folder.joinpath(name).read_text("utf-8")


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Fill a template in one pass: what is put in is never looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda hole: values[hole[1]], template)
