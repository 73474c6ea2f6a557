"""What a model wrote, read without guessing: labels, numbers, JSON, code, likeness, judges."""

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
    "fill_template",
    "is_same_json",
    "is_same_text",
    "judge",
    "normalize_text",
    "read_code",
    "read_json",
    "read_label",
    "read_number",
    "similarity",
]
