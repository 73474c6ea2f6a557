"""Columns of dates as days since 1970, and back to the type that they had.

Dates are held as numbers, so that all that is done with numbers is done with them. A value
that came with the data goes back as it came; a new one gets the same type: so many digits
of a second, a date object, a text in the same form.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.dates import Date, DateTime
from nomos.domain.schema import MISSING
from nomos.domain.values import plain
from nomos.lang.dates import date_text, to_datetime, to_days

_A_DAY = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}


def read_dates(column: Any) -> Array | None:
    """Return a column of dates as days, a gap as NaN; None where it holds others.

    Dates are numpy's, pandas' and polars', Python's, and texts in ISO 8601.
    """
    if str(getattr(column, "dtype", "")).lower().startswith("categor"):
        return None
    values = _without_zone(column)
    if values.dtype.kind == "M":
        return dates_as_days(values)
    if values.dtype.kind not in "OUT":
        return None
    try:
        cells = [cell for cell in set(values.tolist()) if not is_gap(cell)]
        known = {cell: to_days(cell) for cell in cells}
    except (ValueError, TypeError, AttributeError):
        return None
    if not known:
        return None
    return np.array([known.get(cell, np.nan) for cell in values.tolist()])


def dates_as_days(values: Array) -> Array:
    """Return numpy's dates as days, NaT as NaN."""
    days = values.astype("datetime64[us]").astype(np.int64) / _A_DAY["us"]
    return np.where(np.isnat(values), np.nan, days)


def days_as_dates(days: Any) -> Array:
    """Return days as numpy's dates, to the microsecond; NaN as NaT."""
    held = np.asarray(days, dtype=np.float64)
    count = np.rint(np.nan_to_num(held) * _A_DAY["us"]).astype("datetime64[us]")
    return np.where(np.isnan(held), np.datetime64("NaT", "us"), count)


def _zone_of(column: Any) -> Any:
    """Return the time zone of a column of pandas, None where it has none."""
    return getattr(getattr(column, "dtype", None), "tz", None)


def _without_zone(column: Any) -> Array:
    """Return a column as an array, its dates in UTC."""
    is_local = _zone_of(column) is not None
    return np.asarray(column.dt.tz_convert(None) if is_local else column)


def is_gap(cell: Any) -> bool:
    """Tell whether a cell says nothing."""
    if isinstance(cell, str):
        return cell in MISSING
    return cell is None or type(cell).__name__ == "NAType" or bool(cell != cell)


def infer_date(
    name: str, days: Array, form: str = "", kind: str = ""
) -> Date | DateTime:
    """Return what feature a column of dates is; its texts have a form, its cells a type."""
    known = days[~np.isnan(days)]
    low, high = (known.min(), known.max()) if len(known) else (0, 0)
    gaps = len(known) < len(days)
    if (known == np.rint(known)).all():
        return Date(name, int(low), int(high), gaps, form or "2024-01-31", kind)
    form = form or "2024-01-31 12:30:00"
    return DateTime(name, float(low), float(high), gaps, form, kind)


def make_dates(column: Any, days: Array) -> Callable[[Array], Any]:
    """Return what gives days back as the column had its dates."""
    values, zone = _without_zone(column), _zone_of(column)
    if zone is not None:
        make_utc, kind = _numpy_dates(values, days), type(column)
        return lambda held: (
            kind(make_utc(held)).dt.tz_localize("UTC").dt.tz_convert(zone)
        )
    if values.dtype.kind == "M":
        return _numpy_dates(values, days)
    cells = values.tolist()
    first = next(cell for cell in cells if not is_gap(cell))
    gap = next((cell for cell in cells if is_gap(cell)), None)
    before = dict(zip(days.tolist(), cells, strict=True))
    make = date_maker(first)

    def restore(held: Array) -> Any:
        made = [
            gap if one != one else before[one] if one in before else make(one)
            for one in held.astype(np.float64).tolist()
        ]
        is_pandas = hasattr(column, "iloc") and not isinstance(first, str)
        # It would make another kind of date of a list.
        return type(column)(made, dtype=object) if is_pandas else made

    return restore


def date_maker(first: Any) -> Callable[[float], Any]:
    """Return what makes a date of the kind, or a text of the form, of another."""
    if isinstance(first, str):
        text = first.strip()
        if text[2:3] == ".":
            write = date_maker(f"{text[6:10]}-{text[3:5]}-{text[:2]}{text[10:]}")
            return lambda days: "{2}.{1}.{0}{3}".format(*_split_date(write(days)))
        if len(text) <= len("2024-01-31"):
            return lambda days: to_datetime(days).date().isoformat()
        pattern = datetime.fromisoformat(text)
        digits = "microseconds" if pattern.microsecond else "seconds"
        digits = "minutes" if text.count(":") == 1 and not pattern.tzinfo else digits
        make = date_maker(pattern)
        joint = text[len("2024-01-31")]
        zulu = text.endswith("Z")
        return lambda days: (
            make(days)
            .isoformat(joint, digits)
            .replace("+00:00", "Z" if zulu else "+00:00")
        )
    if isinstance(first, datetime):
        zone = first.tzinfo
        if zone is None:
            return to_datetime
        return lambda days: to_datetime(days).replace(tzinfo=UTC).astimezone(zone)
    return lambda days: to_datetime(days).date()


def _split_date(text: str) -> tuple[str, str, str, str]:
    """Return the year, month and day of an ISO text, and what follows them."""
    return text[:4], text[5:7], text[8:10], text[10:]


def plain_date(value: Any) -> Any:
    """Return a value as Python's own; of nanoseconds, numpy would give a whole number."""
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").item()
    return plain(value)


def read_day(value: Any) -> float:
    """Return a date of any kind as days since 1970."""
    known = plain_date(value)
    return np.nan if is_gap(known) else to_days(known)


def write_date(old: Any, days: float) -> Any:
    """Return days as a date of the kind that another is."""
    known = plain_date(old)
    is_gap = known is None or known != known
    if days != days or is_gap:
        return to_datetime(days) if days == days else old if is_gap else None
    if not isinstance(known, datetime | str) and days != round(days):
        raise ValueError(f"a date takes whole days, not {date_text(days)}")
    made = date_maker(known)(days)
    if isinstance(old, np.datetime64):
        return np.datetime64(made).astype(old.dtype)
    return made if type(made) is type(old) else type(old)(made)  # as pandas' Timestamp


def _numpy_dates(values: Array, days: Array) -> Callable[[Array], Array]:
    kind = values.dtype
    unit = np.datetime_data(kind)[0]
    unit = unit if unit in _A_DAY else "us" if unit == "ns" else "D"

    def make(held: Array) -> Array:
        gaps = np.isnan(held)
        count = np.rint(np.where(gaps, 0, held) * _A_DAY[unit]).astype(np.int64)
        made: Array = count.view(f"datetime64[{unit}]").astype(kind)
        made[gaps] = np.datetime64("NaT")
        return made

    odd = np.flatnonzero((make(days) != values) & ~np.isnan(days))
    if not len(odd):
        return make
    keys, first = np.unique(days[odd], return_index=True)
    known = values[odd][first]

    def restore(held: Array) -> Array:
        made, held = make(held), held.astype(np.float64)
        at = np.minimum(np.searchsorted(keys, held), len(keys) - 1)
        return np.where(keys[at] == held, known[at], made)

    return restore
