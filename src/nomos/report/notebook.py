"""A result that shows itself: as a few lines in a program, as a table in a notebook."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from nomos.campaign.control import gaps_of
from nomos.campaign.describe import describe
from nomos.campaign.events import Bug
from nomos.campaign.result import Result, bug_data
from nomos.domain.show import Fields, Image, Shown, Sound, Words, looks
from nomos.report.bug import Comparison, compare, differs, picture
from nomos.report.html_text import count, text
from nomos.report.pictures import png, shrunk, spectrogram
from nomos.report.summary import Line, campaign_remarks

_MOST_SHOWN = 3
_MOST_WEIGHED = 200  # bugs, among which the clearest are looked for
_MOST_FEATURES = 40  # of a record with nothing to compare it with
_LONGEST_CELL = 300
_PIXELS_A_SIDE = 140  # of a picture, about
_MARK = "background:rgba(255,193,7,.3)"  # of what differs; seen on light and dark


class ShownResult(Result):
    """The outcome of one campaign; print it, or let a notebook show it."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the verdict, how often, what else must be said, and the clearest bug."""
        lines = [f"{self.subject.spec.name}: {_verdict(self)}"]
        lines += campaign_remarks(self)
        for bug in _clearest(self, 1):
            shown = picture(
                bug.values,
                self.subject.spec.outputs,
                self.subject.domain,
                colour=False,
                everything=False,
            )
            lines += [f"`{bug.failed}` does not hold:", shown.plain.rstrip()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the verdict and the clearest bugs, for a notebook."""
        spec = self.subject.spec
        parts = [f"<b>{text(spec.name)}: {text(_verdict(self))}</b>"]
        if spec.description:
            parts.append(f"<i>{text(spec.description)}</i>")
        parts += [f"<pre>{text(remark)}</pre>" for remark in campaign_remarks(self)]
        shown = _clearest(self, _MOST_SHOWN)
        parts += [_bug(bug, self) for bug in shown]
        left = self.counts.unique_bugs - len(shown)
        if shown and left:
            parts.append(f"and {count(left, 'other bug')}, in <code>.bugs</code>")
        return "".join(f"<div>{part}</div>" for part in parts)


def _verdict(result: Result) -> str:
    said = result.verdict.replace("-", " ")
    return f"{said}; {Line((result,)).rate()}"


def _clearest(result: Result, most: int) -> list[Bug]:
    """Return the bugs with the fewest changes, of these the ones that miss by most."""
    subject = result.subject

    def key(bug: Bug) -> tuple[int, float]:
        compared = compare(bug_data(bug, subject)["inputs"])
        gaps = gaps_of(subject.spec, [bug], {}) or {0.0: 1}
        return 0 if compared is None else len(compared.changed), -max(gaps)

    # One of each input first: the same patient three times tells less.
    firsts: dict[tuple[int, ...], Bug] = {}
    others = []
    for bug in sorted(result.bugs[:_MOST_WEIGHED], key=key):
        if firsts.setdefault(bug.choices[:1], bug) is not bug:
            others.append(bug)
    return [*firsts.values(), *others][:most]


def _bug(bug: Bug, result: Result) -> str:
    """Return a bug: its records side by side, and what the model said of them."""
    spec, domain = result.subject.spec, result.subject.domain
    given = {name: v for name, v in bug.values.items() if name not in spec.outputs}
    kinds = looks(given, domain, bug.choices)
    tabled = {
        name: describe(dict(look.values))
        for name, look in kinds.items()
        if isinstance(look, Fields)
    }
    compared = compare(tabled)
    plain = {n: describe(v) for n, v in bug.values.items() if n not in kinds}
    parts = [f"<code>{text(bug.failed)}</code> does not hold:"]
    parts += [] if compared is None else [_table(compared)]
    parts += _drawn(kinds)
    parts.append(", ".join(f"{text(n)} = <b>{_cell(v)}</b>" for n, v in plain.items()))
    body = "".join(f"<div>{part}</div>" for part in parts if part)
    return f'<div style="margin:.6em 0">{body}</div>'


def _table(compared: Comparison) -> str:
    changed = [row for row in compared.rows if differs(row[1])]
    style = f' style="{_MARK}"' if changed else ""
    changed = changed or list(compared.rows[:_MOST_FEATURES])  # of one record: all
    same = len(compared.rows) - len(changed)
    head = "".join(f"<th>{text(name)}</th>" for name in compared.names)
    rows = "".join(
        f"<tr><th>{text(feature)}</th>"
        + "".join(f"<td{style}>{_cell(value)}</td>" for value in values)
        + "</tr>"
        for feature, values in changed
    )
    note = f"{count(same, 'other feature')} the same" if same and style else ""
    return f"<table><tr><th></th>{head}</tr>{rows}</table>{note}"


def _drawn(kinds: Mapping[str, Shown]) -> Iterator[str]:
    """Yield what is seen or read rather than compared feature by feature."""
    pictures = []
    for name, look in kinds.items():
        match look:
            case Image() | Sound():
                image = look if isinstance(look, Image) else spectrogram(look)
                pictures.append(_picture(name, image))
            case Words(text=words):
                yield f"{text(name)}: {_cell(words)}"
            case _:
                continue
    if pictures:
        yield " ".join(pictures)


def _picture(name: str, image: Image) -> str:
    pixels = image.pixels
    height, width = pixels.shape[:2]
    scale = _PIXELS_A_SIDE / max(height, width)
    if scale < 1:
        size = max(1, round(height * scale)), max(1, round(width * scale))
        pixels = shrunk(pixels, *size)
    data = base64.b64encode(png(pixels, scale=max(1, int(scale)))).decode()
    source = f"data:image/png;base64,{data}"
    return f'{text(name)} <img alt="{text(name)}" src="{source}">'


def _cell(value: Any) -> str:
    if isinstance(value, float):
        value = f"{value:g}"
    return text(value, longest=_LONGEST_CELL)
