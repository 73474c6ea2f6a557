"""UBJSON that is cut short is found out before XGBoost runs past its end."""

from __future__ import annotations

import pytest

from nomos.models.screening.ubjson import check_ubjson


def name(text: str) -> bytes:
    return b"L" + len(text).to_bytes(8, "big") + text.encode()


WHOLE = (
    b"{" + name("learner") + b"{" + name("trees")
    + b"[#" + b"L" + (2).to_bytes(8, "big") + b"i\x01" + b"S" + name("two")
    + name("weights") + b"[$d#" + b"L" + (3).to_bytes(8, "big") + bytes(12)
    + name("flags") + b"[TFZ" + b"U\xff" + b"]" + b"}" + b"}"
)  # fmt: skip


def test_whole_value_passes() -> None:
    check_ubjson(WHOLE)


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_every_cut_is_found(length: int) -> None:
    with pytest.raises(ValueError, match=r"cut short|no whole number|unknown mark"):
        check_ubjson(WHOLE[:length])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (WHOLE + b"Z", "something after its end"),
        (b"?", "unknown mark"),
        (b"[" * 100, "nests too deeply"),
        (b"SZ", "a length is no whole number"),
        (b"SL" + b"\xff" * 8, "cut short"),
    ],
)
def test_what_is_no_ubjson_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_ubjson(data)
