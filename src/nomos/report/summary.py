"""The end of a run as a reader wants it: a line for each property, and one bug."""

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from nomos.report.bug import WIDTH, card_text
from nomos.report.cards import card_of, first_card
from nomos.report.groups import shrunk_words
from nomos.report.texts import count_of
from nomos.report.view import PropertyView, model_names, view_properties, view_property
from nomos.results.bugs import with_values
from nomos.results.gate import Ruling
from nomos.results.measured import join_calls
from nomos.results.result import Bug, Result
from nomos.runner.stopping import EXIT_STATUS

STYLES = {"violated": "bold red", "holds": "bold green", "failed": "bold magenta"}
_MOST_WEIGHED = 200  # bugs, among which the clearest are looked for
_NARROW = 72  # columns of a terminal in which a table would break its words
_MOST_GROUPS = 3  # of one property; the page has all of them
_BAR = 24  # columns of the longest bar


def clearest_bug(results: Sequence[Result]) -> tuple[Result, Bug] | None:
    """Return the clearest bug of the first property that has any."""
    for result in results:
        if ordered := by_clearness(result):
            return result, ordered[0]
    return None


def by_clearness(result: Result) -> list[Bug]:
    """Return bugs, the clearest first.

    That is the smallest of the largest group, where there are groups; else the one with
    the fewest changed features, of these the one that misses by most, of these the first.
    Only bugs with values are weighed, where there are any.
    """
    found = result.cases_shown
    weighed = list(with_values(found))
    groups = () if result.analysis is None else result.analysis.groups
    first = {group.smallest: number for number, group in enumerate(groups)}
    some = (weighed or list(found[:_MOST_WEIGHED]))[:_MOST_WEIGHED]
    weighed = some + [bug for bug in weighed[_MOST_WEIGHED:] if bug.id in first]

    def clearness_of(bug: Bug) -> tuple[int, int, float]:
        rank = first.get(bug.id, len(first))
        return rank, card_of(result, bug).changes, -(bug.margin or 0.0)

    return sorted(weighed, key=clearness_of)


def summary_table(views: Sequence[PropertyView]) -> Table:
    """Return the table that ends a run."""
    models = model_names(views)
    several = len(set(models)) > 1
    seeds = max((len(one.results) for one in views), default=1)
    counted = f"unique bugs: mean and deviation over {seeds} seeds"
    caption = counted if seeds > 1 else None
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption=caption)
    for title in ("property", "model")[: 1 + several]:
        table.add_column(title, overflow="fold")
    table.add_column("k", justify="right")
    table.add_column("verdict")
    table.add_column("unique bugs", justify="right")
    table.add_column("violations")
    for one, model in zip(views, models, strict=True):
        names = (Text(one.name), Text(model))[: 1 + several]
        table.add_row(*names, one.k, _verdict_text(one), one.bugs_words, one.rate)
    return table


def summary_lines(views: Sequence[PropertyView]) -> Iterable[Text]:
    """Yield the same as lines, for a terminal that is too narrow for a table."""
    models = model_names(views)
    several = len(set(models)) > 1
    for one, model in zip(views, models, strict=True):
        text = Text(one.name, style="bold")
        text.append(f" on {model}" * several, style="").append("\n  ")
        text.append(_verdict_text(one))
        text.append(f", {one.k}-safety, {one.found_words}", style="not bold")
        yield text


def _verdict_text(one: PropertyView) -> Text:
    return Text(one.verdict.replace("-", " "), style=STYLES.get(one.verdict, ""))


def undecided_lines(rulings: Sequence[Ruling]) -> Iterator[str]:
    """Yield why properties are not decided: what `--quiet` leaves of results."""
    for ruling in rulings:
        if ruling.status == 3:
            one = view_property(ruling.results)
            problems = "; ".join(r.text for r in one.remarks if r.is_problem)
            said = "; ".join(filter(None, (ruling.said, problems)))
            yield f"error: {one.name} is not decided: {said or one.found_words}"


def summary_parts(
    results: Sequence[Result], width: int = WIDTH, *, stored: bool = True
) -> Iterable[Table | Text]:
    """Yield the end of a run: the table, and what else must be said of each property."""
    views = view_properties(results)
    if width < _NARROW:
        yield from summary_lines(views)
    else:
        yield summary_table(views)
    if len(views) > 1 and (sent := join_calls(r.calls for r in results).sent_text):
        yield Text(f"in all: {sent}")
    for one in views:
        for line in remark_lines(one, f"{one.name}: "):
            yield Text(line)
        most = _MOST_GROUPS if len(views) == 1 else 1
        for group in one.groups[:most]:
            first, *others = group.lines
            yield Text("\n".join([f"{one.name}: {first}", *others]))
        if left := one.groups[most:]:
            page = "`nomos report`" if stored else "--html"
            more = f"{count_of(len(left), 'group')} more, which {page} shows"
            yield Text(f"{one.name}: {more}")


def remark_lines(
    one: PropertyView, prefix: str = "", *, problems_only: bool = False
) -> list[str]:
    """Return problems, each `ensures` and margins as lines."""
    said = []
    problems_only = problems_only and one.verdict not in ("holds", "none-found")
    for remark in one.remarks:
        if problems_only and not (remark.is_problem or remark.detail):
            continue
        detail = f"\n{remark.detail}" if remark.detail else ""
        said.append(f"{prefix}{remark.text}{detail}")
    for each in one.ensures:
        said.append(f"{prefix}`{each.text}`: {each.words}")
    if one.bars and not problems_only:
        said.append(f"{prefix}violations by how much they miss")
        widest = max(len(bar.label) for bar in one.bars)
        for bar in one.bars:
            drawn = "█" * max(1, round(_BAR * bar.share))
            said.append(f"  {bar.label:>{widest}} {drawn} {bar.words}")
    return said


def example_text(
    results: Sequence[Result],
    *,
    colour: bool = False,
    width: int = WIDTH,
    stored: bool = True,
) -> Text | None:
    """Return the clearest bug, as its domain shows it."""
    found = clearest_bug(results)
    if found is None:
        return None
    result, bug = found
    text = Text()
    text.append(result.name, style="bold")
    text.append(f"  bug {bug.id}", style="bold red")
    text.append(f"   `{bug.failed}` does not hold\n")
    if result.subject.description:
        text.append(f"  {result.subject.description}\n", style="italic")
    text.append(card_text(first_card(result, bug), colour=colour, width=width))
    if bug.shrunk is not None:
        words = f"shrunk, {shrunk_words(bug.shrunk)}"
        more = f"; nomos show {bug.id} has it as it was found" if stored else ""
        text.append(f"  ({words}{more})\n", "dim")
    return text


def next_steps(results: Sequence[Result]) -> list[str]:
    """Return the commands that a reader will want next."""
    found = clearest_bug(results)
    if any(result.reason in EXIT_STATUS for result in results):
        return ["nomos run … --resume  go on where it stopped"]
    if found is None:
        open_ends = [r for r in results if r.verdict == "none-found"]
        more = 10 * max((result.budget for result in open_ends), default=0)
        return [f"nomos run … --budget {more}  ten times as many cases"] if more else []
    _, bug = found
    return [
        f"nomos show {bug.id}    the bug in full",
        f"nomos replay {bug.id}  re-run it in isolation",
        f"nomos bugs {'':<{len(bug.id)}}    all bugs",
        f"nomos report {'':<{len(bug.id)}}  all of it, as a page",
    ]


def failure_text(result: Result, weighed: str = "") -> str:
    """Return what a red test says: how often, the clearest bug, and how to replay it."""
    one = view_property([result])
    lines = [*([weighed] if weighed else []), one.rate, *remark_lines(one)]
    shown = example_text([result])
    if shown is not None:
        lines += [shown.plain.rstrip(), *next_steps([result])]
    return "\n".join(lines)
