"""`%%nomos` in a notebook: a spec in a cell, run on what is at hand.

%load_ext nomos

%%nomos people predict=model.predict --budget 1000
input x1;
...
"""

import argparse
import shlex
from typing import Any, NoReturn

from nomos.diagnostics.render import render_diagnostic
from nomos.errors import NomosError, SpecError
from nomos.inline import run, spec
from nomos.terminal import echo


class _Options(argparse.ArgumentParser):
    """Reads the line of the magic; a mistake in it is a sentence, not an exit."""

    def error(self, message: str) -> NoReturn:
        raise NomosError(f"{message}\nhelp: %%nomos FRAME predict=model.predict")


_OPTIONS = _Options(prog="%%nomos", add_help=False)
_OPTIONS.add_argument("inputs")
_OPTIONS.add_argument("functions", nargs="*")
_OPTIONS.add_argument("--labels")
_OPTIONS.add_argument("--budget", type=int)
_OPTIONS.add_argument("--seed", type=int, default=0)
_OPTIONS.add_argument("--name", default="property")
_OPTIONS.add_argument("--into", help="a variable that keeps the result")


def nomos_magic(line: str, cell: str, shell: Any) -> Any:
    """Run the spec of a cell; what is wrong is drawn as on the console.

    The line names the inputs, a frame or a list, and the functions of the spec as
    `name=expression`. Both are read as Python, with the names of the notebook.
    """
    try:
        given = _OPTIONS.parse_intermixed_args(shlex.split(line))
        result = _run_cell(given, cell, shell)
    except SpecError as error:
        text = [render_diagnostic(d, error.source) for d in error.diagnostics]
        echo("\n\n".join(text))
        return None
    except NomosError as error:
        echo(f"error: {error}")
        return None
    if given.into:
        shell.user_ns[given.into] = result
    return result


def _run_cell(given: argparse.Namespace, cell: str, shell: Any) -> Any:
    functions = {}
    for item in given.functions:
        name, sign, expression = item.partition("=")
        if not sign or not name.isidentifier():
            raise NomosError(f"`{item}` is no function: write name=expression")
        functions[name] = _evaluate_expression(expression, shell)
    inputs = _evaluate_expression(given.inputs, shell)
    if not functions and hasattr(shell.user_ns.get("model"), "predict"):
        functions["predict"] = shell.user_ns["model"].predict
    labels = None if given.labels is None else _evaluate_expression(given.labels, shell)
    limits = {} if given.budget is None else {"budget": given.budget}
    text = spec(cell, name=given.name)
    more = {**limits, **functions}
    return run(text, inputs=inputs, labels=labels, seed=given.seed, **more)


def _evaluate_expression(expression: str, shell: Any) -> Any:
    """Return the value of an expression of the notebook."""
    try:
        return eval(expression, shell.user_global_ns, shell.user_ns)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise NomosError(f"`{expression}` has no value here: {why}") from error


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the magic; `%load_ext nomos` calls this."""

    def nomos(line: str, cell: str) -> Any:
        return nomos_magic(line, cell, shell)

    shell.register_magic_function(nomos, "cell", "nomos")
