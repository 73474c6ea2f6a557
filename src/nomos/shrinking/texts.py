"""Shorter texts: phrases are left out as long as the property is still broken."""

from __future__ import annotations

import re

from nomos.domain.records import get_feature
from nomos.shrinking.trying import OwnCase, Tester, fields_of, with_field

_PHRASE_ENDS = re.compile(r"(?<=[.!?;:,])\s+|\n+")


def shorter_texts(tester: Tester, case: OwnCase) -> OwnCase:
    """Return a case with shorter texts; texts that have a label stay as they are."""
    if tester.uses_labels:
        return case
    for number, record in enumerate(case.records):
        for key in [""] if isinstance(record, str) else fields_of(record):
            text = record if key == "" else get_feature(record, key, None)
            if isinstance(text, str) and " " in text:
                case = _shortened(tester, case, number, key, text)
    return case


def _shortened(
    tester: Tester, case: OwnCase, number: int, key: str, text: str
) -> OwnCase:
    """Leave phrases out of one text of a case, then words."""
    for split in (_PHRASE_ENDS.split, str.split):
        pieces = [piece for piece in split(text) if piece]
        size = max(1, len(pieces) // 2)
        while len(pieces) > 1 and tester.left > 0:
            starts = range(0, len(pieces), size)
            fewer = [pieces[:at] + pieces[at + size :] for at in starts]
            fewer = [some for some in fewer if some]
            old = case.records[number]
            texts = [with_field(old, key, " ".join(some), None) for some in fewer]
            cases = [case.with_record(number, new) for new in texts]
            found = tester.first(cases)
            if found is not None:
                case, pieces = cases[found], fewer[found]
                size = min(size, max(1, len(pieces) // 2))
            elif size == 1:
                break
            else:
                size //= 2
        text = " ".join(pieces)
    return case
