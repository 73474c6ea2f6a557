"""The way out to a terminal: what would act on it, or turn text around, is written out.

Names of models and files, answers, records and errors may hold anything. Everything that
Nomos prints passes `echo`, or the console of `report/console.py`, which asks `printable`.
"""

import re

# What would be invisible, turn the text around it, or is no character: controls,
# marks of direction, joiners of lines, tags, halves of pairs.
ODD = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
# It writes over what stands there
_ODD_IN_A_LINE = re.compile(f"{ODD.pattern}|\r(?!\n)")


def printable(text: str) -> str:
    r"""Return a text in which odd characters are written out: \x1b, \u202e."""
    return _ODD_IN_A_LINE.sub(_escape_match, text)


def _escape_match(odd: re.Match[str]) -> str:
    return odd[0].encode("unicode_escape").decode()


def echo(message: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a message that may hold anything."""
    import click

    click.echo(printable(str(message)), err=err, nl=nl)
