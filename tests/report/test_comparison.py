from __future__ import annotations

import io

from rich.console import Console

from nomos.report.comparison import comparison_data, comparison_table, next_steps
from nomos.results.comparison import compare_results


def test_data_holds_the_bugs_of_both_and_their_problems(bug, result):
    one = compare_results(result(bug(0), bug(1), crashed=1), result(bug(1), bug(2)))
    data = comparison_data(one)
    assert [[b["id"] for b in data[kind]] for kind in ("fixed", "kept", "added")] == [
        [bug(n).id] for n in (0, 1, 2)
    ]
    assert data["problems"] == {"old": "1 case crashed", "new": ""}
    assert data["violations"] == {"old": 2, "new": 2}
    assert data["difference"]["value"] == 0


def test_table_and_next_steps_name_what_is_new(bug, result):
    one = compare_results(result(bug(0)), result(bug(1), property="[b]odd"))
    out = Console(file=io.StringIO(), width=120)
    out.print(comparison_table([one]))
    text = out.file.getvalue()
    assert "[b]odd" in text and "1 → 1 of 300" in text and "+0.00 % (" in text
    assert next_steps([one])[0].startswith(f"nomos show {bug(1).id}")
    assert next_steps([compare_results(result(bug(0)), result())]) == []
