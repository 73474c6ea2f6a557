"""Shorter texts: phrases are left out as long as the property is still broken."""

from __future__ import annotations

import re
from dataclasses import replace

from nomos.domain.records import get_feature, set_feature
from nomos.shrinking.trying import OwnCase, Tester, fields_of

_PHRASE_ENDS = re.compile(r"(?<=[.!?;:,])\s+|\n+")


def shorter_texts(tester: Tester, case: OwnCase) -> OwnCase:
    """Return a case with shorter texts; texts that have a label stay as they are."""
    if tester.uses_labels:
        return case
    for number, record in enumerate(case.records):
        keys = [""] if isinstance(record, str) else fields_of(record)
        for key in keys:
            text = record if key == "" else get_feature(record, key, None)
            if isinstance(text, str) and " " in text:
                case = _Text(tester, number, key).shortened(case, text)
    return case


class _Text:
    """One text of a case: a record, or a field of one."""

    def __init__(self, tester: Tester, number: int, key: str) -> None:
        self.tester = tester
        self.number = number
        self.key = key

    def shortened(self, case: OwnCase, text: str) -> OwnCase:
        """Leave out phrases, then words."""
        for split in (_PHRASE_ENDS.split, str.split):
            pieces = [piece for piece in split(text) if piece]
            size = max(1, len(pieces) // 2)
            while len(pieces) > 1 and self.tester.left > 0:
                starts = range(0, len(pieces), size)
                fewer = [pieces[:at] + pieces[at + size :] for at in starts]
                fewer = [some for some in fewer if some]
                cases = [self._with(case, " ".join(some)) for some in fewer]
                found = self.tester.first(cases)
                if found is not None:
                    case, pieces = cases[found], fewer[found]
                    size = min(size, max(1, len(pieces) // 2))
                elif size == 1:
                    break
                else:
                    size //= 2
            text = " ".join(pieces)
        return case

    def _with(self, case: OwnCase, text: str) -> OwnCase:
        records = list(case.records)
        old = records[self.number]
        records[self.number] = (
            text if self.key == "" else set_feature(old, self.key, text, None)
        )
        return replace(case, records=tuple(records))
