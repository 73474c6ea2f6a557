"""Templates that escape every string, and name in it what could not be seen."""

import re
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from nomos.terminal import ODD

_LONGEST_TEXT = 20_000  # characters of any one text


def template_text(name: str) -> str:
    """Return a file of the folder of templates."""
    return resources.files(__package__).joinpath("templates", name).read_text("utf-8")


@lru_cache(maxsize=1)
def template_environment() -> Environment:
    """Return where pages come from: whatever they show becomes text, never HTML."""
    made = Environment(
        loader=FunctionLoader(template_text),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_make_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["attribute"] = attribute_text
    made.filters["coded"] = mark_code
    made.filters["breakable"] = break_words
    # A number stays with its per cent sign.
    made.filters["unbroken"] = lambda words: words.replace(" %", "\N{NO-BREAK SPACE}%")
    made.filters["sentence"] = lambda words: words[:1].upper() + words[1:]
    return made


def _make_visible(value: Any) -> Any:
    """Name the characters of a text that cannot be seen, and cut one that is too long."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    left = len(value) - _LONGEST_TEXT
    if left <= 0 and not ODD.search(value):
        return value
    shown = escape(value[:_LONGEST_TEXT])
    marked = ODD.sub(lambda odd: f'<span class="odd">{_code_point(odd)}</span>', shown)
    more = f'<span class="cut"> … {left:,} more</span>' if left > 0 else ""
    return Markup(marked + more)  # escaped above; what is added is ours


def attribute_text(value: object) -> str:
    """Return a value as what stands between the quotes of an attribute."""
    return ODD.sub(_code_point, str(value)[:2000])


def mark_code(value: str) -> Markup:
    """Return a text whose words in backticks are shown as code."""
    if value.count("`") % 2:
        return Markup(escape(_make_visible(value)))
    parts = [Markup(escape(_make_visible(part))) for part in value.split("`")]
    marked = [
        Markup("<code>{}</code>").format(p) if n % 2 else p for n, p in enumerate(parts)
    ]
    return Markup("").join(marked)


def break_words(value: str) -> Markup:
    """Return a text that may go to the next line inside a path or a long name."""
    parts = re.split(r"(?<=[/_])", value[:2000])
    return Markup("<wbr>").join(Markup(escape(_make_visible(part))) for part in parts)


def _code_point(odd: re.Match[str]) -> str:
    return f"U+{ord(odd[0]):04X}"


def content_policy(script: str, style: str) -> str:
    """Return what a page may do: run its own script, show what is inside it."""
    hashes = [
        b64encode(sha256(part.encode()).digest()).decode() for part in (script, style)
    ]
    return (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}';"
        f" style-src 'sha256-{hashes[1]}'; img-src data:; media-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
