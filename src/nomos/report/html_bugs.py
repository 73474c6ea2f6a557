"""Bugs as the compact data that a page's script makes cards of, within a page's room.

A row is `[id, case, failed, seen, status, seed, parts]`. A part is `[form, data…]`,
where a form, said once for all bugs that share it, is the kind of the part and the
names of its records. How a record is shown is the word of `nomos.domain.show` alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nomos.campaign.describe import describe
from nomos.campaign.events import Bug
from nomos.campaign.result import Subject
from nomos.domain.domain import Domain
from nomos.domain.show import (
    Fields,
    Image,
    Scene,
    Shown,
    Sound,
    Words,
    looks,
    shown,
)
from nomos.report.html_pictures import image_data, scene_data, sound_data
from nomos.report.html_text import to_json
from nomos.report.pictures import difference

# Of each property: more than anybody looks at one by one, and few enough that games
# are played again, and their paths sent, for a page of many properties.
MOST_DRAWN = 48
_LONGEST_TEXT = 4000  # characters of a value; longer ones are cut around the change
_BEFORE_CHANGE = 400  # characters that are shown before it then
_LONGEST_LIST = 300  # characters of a list or a record inside a record
_SHORT_TEXT = 60  # characters; such a text is a value like a number
_MOST_FIELDS = 200  # of a record; those that changed come first
_MOST_DIFFERENCES = 3  # pictures of differences, of one bug
_MOST_MISFITS = 20  # bugs too large for the room that is left, before none is tried
_EXACT = 2**53  # integers up to here are the same in the page's script
_DIGEST = {"shape", "dtype", "sha256"}  # what is recorded of a large array


@dataclass(slots=True)
class Room:
    """What is left of a page: bugs, bytes of their values, bytes of their pictures.

    All of it together, with the rest of the page, is less than 15 MB.
    """

    bugs: int = 50_000
    values: int = 6_000_000
    pictures: int = 5_500_000

    def share(self, claims: int) -> Room:
        """Return what one of so many properties may take."""
        return Room(self.bugs // claims, self.values // claims, self.pictures // claims)


@dataclass(frozen=True, slots=True)
class Found:
    """A bug of a property, over all seeds."""

    bug: Bug
    seed: int
    seen: int = 1  # how often it was met
    status: str = ""  # new or known, where a list of known bugs was given
    of: Subject | None = None  # whose bug it is, if not that of the property's result
    outputs: Mapping[str, Mapping[str, Any]] | None = None  # of each of two models


class Recorded(dict[str, Any]):
    """The values of a bug as the store has them: described, no longer records."""


class BugWriter:
    """Writes the bugs of one property and one model."""

    def __init__(self, subject: Subject, room: Room) -> None:
        self.subject = subject
        self.room = room
        self.rows: list[str] = []
        self.forms: dict[str, int] = {}
        self.failed: dict[str, int] = {}
        self.drawn = 0  # bugs with all that their domain shows
        self.misfits = 0  # bugs that could not be drawn for want of room
        self.bare = 0  # bugs without their values, for which there was no room
        self.left_out = 0  # bugs that are not on the page at all
        self.problem = ""  # why the domain could not show a record

    def add(self, found: Found) -> None:
        """Write one bug, with as much of it as there is room for."""
        if len(self.rows) >= self.room.bugs:
            self.left_out += 1
            return
        row = self._fitting(found)
        if row is None:
            self.bare += 1
            row = self._row(found, [])
        self.rows.append(row)

    def _fitting(self, found: Found) -> str | None:
        """Return a bug with its values, drawn if that fits; None if nothing does.

        What does not fit is not tried for ever: drawing ten thousand takes minutes.
        """
        if self.drawn < MOST_DRAWN and self.misfits < _MOST_MISFITS:
            row = self._row(found, self._parts(found, drawn=True))
            if len(row) <= self.room.pictures:
                self.drawn += 1
                self.room.pictures -= len(row)
                return row
            self.misfits += 1
        if self.bare < _MOST_MISFITS:
            row = self._row(found, self._parts(found, drawn=False))
            if len(row) <= self.room.values:
                self.room.values -= len(row)
                return row
        return None

    def data(self) -> str:
        """Return the JSON of the bugs and of what they share."""
        forms = "[" + ",".join(self.forms) + "]"
        rows = "[" + ",\n".join(self.rows) + "]"
        return f'"failed":{to_json(list(self.failed))},"forms":{forms},"bugs":{rows}'

    def _row(self, found: Found, parts: list[list[Any]]) -> str:
        bug = found.bug
        failed = self.failed.setdefault(bug.failed[:_LONGEST_TEXT], len(self.failed))
        head = [bug.id, bug.case, failed, found.seen, found.status, found.seed]
        return to_json([*head, parts])

    def _form(self, kind: str, **facts: Any) -> int:
        form = to_json({"kind": kind, **facts})
        if form not in self.forms:
            self.room.values -= len(form)
        return self.forms.setdefault(form, len(self.forms))

    def _parts(self, found: Found, *, drawn: bool) -> list[list[Any]]:
        bug, subject = found.bug, found.of or self.subject
        outputs = subject.spec.outputs
        given = {name: v for name, v in bug.values.items() if name not in outputs}
        made = {name: bug.values[name] for name in outputs if name in bug.values}
        domain = None if isinstance(bug.values, Recorded) else subject.domain
        given_looks = self._looks(given, domain, bug.choices if drawn else None)
        parts = self._group(given, given_looks, "values", drawn=drawn)
        if found.outputs is not None:
            for model, said in found.outputs.items():
                form = self._form("values", names=list(said), of="outputs", by=model)
                parts.append([form, *(_value(describe(v)) for v in said.values())])
            return parts
        made_looks = self._looks(made, domain, None)
        parts += self._group(made, made_looks, "outputs", drawn=drawn)
        return parts

    def _looks(
        self,
        values: Mapping[str, Any],
        domain: Domain | None,
        choices: tuple[int, ...] | None,
    ) -> dict[str, Shown]:
        """Return how values are shown; without choices, each by itself."""
        schema = None if domain is None else domain.schema
        try:
            if choices is not None:
                return looks(values, domain, choices)
            found = {n: shown(v, domain, schema) for n, v in values.items()}
        except Exception as error:  # a domain's own code: the page is worth more
            self._note(error)
            found = {name: shown(value) for name, value in values.items()}
        return {name: look for name, look in found.items() if look is not None}

    def _note(self, error: Exception) -> None:
        self.problem = self.problem or f"{type(error).__name__}: {error}"

    def _group(
        self,
        values: Mapping[str, Any],
        looks: Mapping[str, Shown],
        title: str,
        *,
        drawn: bool,
    ) -> list[list[Any]]:
        """Return the parts that show values: records by their kind, then the rest."""
        parts: list[list[Any]] = []
        pictures = {
            n: k for n, k in looks.items() if isinstance(k, Image | Sound | Scene)
        }
        if drawn and pictures:
            try:
                parts += list(self._pictures(pictures))
            except Exception as error:  # what a domain gave is no such picture
                self._note(error)
                drawn = False
        if pictures and not drawn:
            said = [_in_words(look) for look in pictures.values()]
            parts.append([self._form("undrawn", names=list(pictures)), *said])
        texts = {n: k.text for n, k in looks.items() if isinstance(k, Words)}
        if any(len(t) > _SHORT_TEXT or "\n" in t for t in texts.values()):
            form = self._form("words", names=list(texts), of=title)
            parts.append([form, *_cut(list(texts.values()))])
        else:
            looks = {name: look for name, look in looks.items() if name not in texts}
        parts += self._fields(looks)
        rest = {name: value for name, value in values.items() if name not in looks}
        if rest:
            form = self._form("values", names=list(rest), of=title)
            parts.append([form, *(_value(describe(v)) for v in rest.values())])
        return parts

    def _pictures(self, looks: Mapping[str, Shown]) -> Iterator[list[Any]]:
        scenes = {n: k for n, k in looks.items() if isinstance(k, Scene)}
        images = {n: k for n, k in looks.items() if isinstance(k, Image)}
        sounds = {n: k for n, k in looks.items() if isinstance(k, Sound)}
        if scenes:
            games = [scene_data(scene) for scene in scenes.values()]
            yield [self._form("scenes", names=list(scenes)), *games]
        if images:
            names, first = list(images), next(iter(images.values()))
            data = [[*image_data(image), None] for image in images.values()]
            for name, image in list(images.items())[1 : _MOST_DIFFERENCES + 1]:
                apart = difference(first, image)
                if apart is not None:
                    names.append(
                        f"difference of {name}" if len(images) > 2 else "difference"
                    )
                    data.append([*image_data(apart[0]), float(f"{apart[1]:.3g}")])
            yield [self._form("images", names=names), *data]
        if sounds:
            clips = [sound_data(sound) for sound in sounds.values()]
            yield [self._form("sounds", names=list(sounds)), *clips]

    def _fields(self, looks: Mapping[str, Shown]) -> Iterator[list[Any]]:
        """Yield the records that have the same fields side by side."""
        alike: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
        for name, look in looks.items():
            if isinstance(look, Fields):
                record = {str(f): describe(v) for f, v in look.values.items()}
                alike.setdefault(tuple(record), {})[name] = record
        for fields, records in alike.items():
            if set(fields) == _DIGEST:
                said = [_digest(record) for record in records.values()]
                yield [self._form("undrawn", names=list(records)), *said]
            else:
                yield self._table(fields, records)

    def _table(
        self, fields: Sequence[str], records: Mapping[str, Mapping[str, Any]]
    ) -> list[Any]:
        """Return records as the first one's values, and what changed in the others."""
        first, *others = records.values()
        changed = [f for f in fields if any(o[f] != first[f] for o in others)]
        kept = set(changed[:_MOST_FIELDS])
        kept |= set([f for f in fields if f not in kept][: _MOST_FIELDS - len(kept)])
        shown_fields = [field for field in fields if field in kept]
        form = self._form(
            "fields",
            names=list(records),
            fields=[field[:_LONGEST_TEXT] for field in shown_fields],
            left=len(fields) - len(shown_fields),
        )
        base, changes = [], [[] for _ in others]  # type: list[Any], list[list[Any]]
        for number, field in enumerate(shown_fields):
            values = [record[field] for record in records.values()]
            encoded = _values(values)
            base.append(encoded[0])
            for change, value, written in zip(
                changes, values[1:], encoded[1:], strict=True
            ):
                if value != values[0]:
                    change += [number, written]
        return [form, base, *changes]


def _values(values: Sequence[Any]) -> list[Any]:
    """Return the values of one field; texts are cut at the same place."""
    if all(isinstance(value, str) for value in values):
        return _cut(values)
    return [_value(value) for value in values]


def _value(value: Any) -> Any:
    """Return described data as a number, a text, true, false or null."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else str(value)
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, str):
        return _cut([value])[0]
    if isinstance(value, Mapping) and set(value) == _DIGEST:
        return _digest(value)
    written = json.dumps(_rounded(value), ensure_ascii=False)
    longer = len(written) - _LONGEST_LIST
    return written if longer <= 0 else written[:_LONGEST_LIST] + f" … {longer:,} more"


def _rounded(value: Any) -> Any:
    """Return nested data with its numbers as short as they can be told apart by eye."""
    if isinstance(value, Mapping):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _cut(texts: Sequence[str]) -> list[Any]:
    """Return texts; where they are long, `[text, from, length]` around their change."""
    if max(map(len, texts)) <= _LONGEST_TEXT:
        return list(texts)
    same = _shared(texts)
    start = max(0, same - _BEFORE_CHANGE) if same > _LONGEST_TEXT // 2 else 0
    return [[text[start : start + _LONGEST_TEXT], start, len(text)] for text in texts]


def _shared(texts: Sequence[str]) -> int:
    """Return how many characters texts begin with alike; 0 where they are the same."""
    if len(set(texts)) == 1:
        return 0
    columns = enumerate(zip(*texts, strict=False))
    shortest = min(map(len, texts))
    return next((at for at, chars in columns if len(set(chars)) > 1), shortest)


def _in_words(look: Image | Sound | Scene) -> str:
    match look:
        case Image(pixels=pixels):
            return f"image, {' by '.join(map(str, pixels.shape[::-1]))} pixels"
        case Sound(samples=samples, rate=rate):
            return f"sound, {len(samples):,} samples at {rate:,} Hz"
        case Scene(caption=caption):
            return caption or "scene"


def _digest(record: Mapping[str, Any]) -> str:
    shape = " by ".join(map(str, record["shape"]))
    return f"array, {shape} {record['dtype']}"
