"""Texts: what a model wrote, read without guessing, and changes of what it is asked."""

from nomos.texts.changing import TextChanges
from nomos.texts.reading import (
    fill_template,
    is_same_json,
    is_same_text,
    judge,
    normalize_text,
    read_code,
    read_json,
    read_label,
    read_number,
    similarity,
)

__all__ = [
    "TextChanges", "fill_template", "is_same_json", "is_same_text", "judge",
    "normalize_text", "read_code", "read_json", "read_label", "read_number",
    "similarity",
]  # fmt: skip
