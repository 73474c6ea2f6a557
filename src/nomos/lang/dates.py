"""Dates as numbers: the days since 1970-01-01, in UTC where a text says a zone.

A spec calculates with these numbers, and sees texts. A day is a whole number; the time of
a day is the rest, to the microsecond.
"""

import math
import re
from datetime import UTC, date, datetime, timedelta

_DAY = timedelta(days=1)
_START = datetime(1970, 1, 1)
# As written in much of Europe, with two digits for a day: its parts have one order.
_POINTED = re.compile(r"(\d\d)\.(\d\d)\.(\d{4})\b")


def to_days(value: str | date) -> int | float:
    """Return a date, or a text such as 2024-01-31 or 31.01.2024, as days; or ValueError."""
    if isinstance(value, str):
        text = _POINTED.sub(r"\3-\2-\1", value.strip())
        try:  # 20260102 may be any number
            value = datetime.fromisoformat("" if text.isdigit() else text)
        except ValueError:
            said = f"{value!r} is no date such as 2024-01-31 or 31.01.2024"
            raise ValueError(said) from None
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if value != value:  # pandas' NaT is a date
        return math.nan
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    days = (value - _START) / _DAY
    return int(days) if days.is_integer() else days


def to_datetime(days: float) -> datetime:
    """Return the time that is so many days after 1970; raises where there is none."""
    return _START + timedelta(microseconds=round(days * 86_400_000_000))


def date_text(days: float) -> str:
    """Return days as a reader sees them: a date, with the time where there is one."""
    if days != days:
        return "missing"
    try:
        found = to_datetime(days)
    except OverflowError:
        return f"day {days:g}"
    return str(found if found.time() != _START.time() else found.date())
