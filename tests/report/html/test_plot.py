from __future__ import annotations

from nomos.report.html.drawings import plot_curve


def test_a_curve_ends_at_all_bugs_and_all_cases(bug, result):
    drawn = plot_curve([result(*(bug(n) for n in range(1000)), tests=5000)])
    ((kind, path),) = drawn.curves
    assert kind == "" and path.startswith("M68.0 152.0H")
    assert path.endswith("V26.0H372.0")
    assert path.count("V") <= 250
    assert "The first bug came with case 0" in drawn.words
    assert "the last with 2,997" in drawn.words
    assert [label for _, label in drawn.rows] == [
        "0",
        "200",
        "400",
        "600",
        "800",
        "1,000",
    ]


def test_bugs_that_are_not_kept_are_told(bug, result):
    assert (
        "of 5 later ones only the number is known"
        in plot_curve([result(bug(), unique_bugs=6)]).words
    )


def test_each_seed_has_a_curve_and_the_old_model_a_dashed_one(bug, result):
    assert len(plot_curve([result(bug()), result(bug()), result()]).curves) == 3
    drawn = plot_curve([result(bug())], old=result(bug(0), bug(1)))
    assert [kind for kind, _ in drawn.curves] == ["old", ""]
    assert "dashed: 2 of the old one" in drawn.words


def test_without_bugs_there_is_nothing_to_draw(result):
    assert plot_curve([result()]) is None
