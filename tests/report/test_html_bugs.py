from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from nomos.campaign.result import Result
from nomos.report.html_bugs import MOST_DRAWN

from nomos.domain.show import Image, Scene, Sound, Words

Page = Callable[..., str]
Read = Callable[[str], Any]
Maker = Callable[..., Result]
LARGEST_PAGE = 15_000_000


class Showing:
    """A domain that shows records as it is told."""

    schema = None

    def __init__(self, show: Callable[[Any], Any]) -> None:
        self.show = show


def kinds(line: dict[str, Any], bug: int = 0) -> list[str]:
    return [line["forms"][part[0]]["kind"] for part in line["bugs"][bug][-1]]


class TestKindsOfRecords:
    def test_image_is_drawn_with_its_difference(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        before, after = np.zeros((9, 12)), np.full((9, 12), 0.25)
        (line,) = read(page(made([{"x1": before, "x2": after}]))).data
        (form, *images) = line["bugs"][0][-1][0]
        assert line["forms"][form]["names"] == ["x1", "x2", "difference"]
        assert [image[1:] for image in images] == [
            [12, 9, None],
            [12, 9, None],
            [12, 9, 0.25],
        ]
        assert base64.b64decode(images[0][0]).startswith(b"\x89PNG")

    def test_large_image_is_made_smaller(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        rng = np.random.default_rng(1)
        (line,) = read(page(made([{"x1": rng.random((1000, 500))}]))).data
        assert line["bugs"][0][-1][0][1][1:3] == [128, 256]

    def test_sound_has_a_file_a_wave_and_a_spectrogram(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        domain = Showing(lambda record: Sound(record, 8000))
        (line,) = read(page(made([{"x1": np.linspace(-1, 1, 4000)}], domain))).data
        (_, sound) = line["bugs"][0][-1][0]
        assert base64.b64decode(sound["wav"]).startswith(b"RIFF")
        assert sound["seconds"] == 0.5
        assert min(sound["wave"]) == -100 and max(sound["wave"]) == 100

    def test_scenes_come_from_the_whole_case_and_its_choices(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        asked = []

        class Game(Showing):
            def show_case(self, values: Any, choices: tuple[int, ...]) -> Any:
                asked.append(choices)
                path = np.column_stack([np.arange(900)] * 3)
                ground = np.array([[0, 0], [9, np.nan]])
                return {"game": Scene(900, 20, (ground,), path, "crashed")}

        game = Game(lambda record: None)
        (line,) = read(page(made([{"x1": object()}], game))).data
        (_, scene) = line["bugs"][0][-1][0]
        assert asked == [(0,)]
        assert scene["steps"] == 900 and len(scene["path"]) == 3 * 300
        assert scene["path"][:3] == [0, 0, 0] and scene["path"][-1] == 899
        assert scene["lines"] == [[0, 0, 9, 0]]

    def test_domain_decides_how_a_record_is_shown(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        domain = Showing(lambda record: Words(f"the record {record}" * 9))
        (line,) = read(page(made([{"x1": 1, "x2": 2}], domain))).data
        assert kinds(line) == ["words"]

    def test_short_texts_stand_among_the_values(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        (line,) = read(page(made([{"v1": "Bern", "v2": "Cork", "d1": "no"}]))).data
        assert kinds(line) == ["values", "values"]

    def test_records_of_other_fields_have_a_table_of_their_own(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        values = {"x1": {"a": 1}, "x2": {"a": 2}, "y": {"b": 3}}
        (line,) = read(page(made([values]))).data
        assert kinds(line) == ["fields", "fields"]
        assert [f["names"] for f in line["forms"]] == [["x1", "x2"], ["y"]]

    def test_wide_record_keeps_its_changed_fields(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        wide = {f"f{n}": n for n in range(5000)}
        (line,) = read(page(made([{"x1": wide, "x2": wide | {"f4999": 0}}]))).data
        (form,) = line["forms"]
        assert len(form["fields"]) == 200 and form["left"] == 4800
        assert form["fields"][-1] == "f4999"

    def test_numbers_inside_a_record_are_short(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        nested = {"at": {"x": 4.274580001831055}, "n": [1, 2.5000000001]}
        (line,) = read(page(made([{"x1": nested}]))).data
        (_, values) = line["bugs"][0][-1][0]
        assert values == ['{"x": 4.2746}', "[1, 2.5]"]

    def test_domain_that_cannot_show_a_record_costs_the_picture_only(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        def broken(record: Any) -> Any:
            raise RuntimeError("no <picture>")

        result = made([{"x1": {"a": 1}}], Showing(broken))
        text = page(result)
        assert "because it raised RuntimeError: no &lt;picture&gt;" in text
        (line,) = read(text).data
        assert kinds(line) == ["fields"]

    def test_what_is_no_picture_costs_the_picture_only(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        text = page(
            made([{"x1": 1}], Showing(lambda record: Image(np.full((2, 2), "no"))))
        )
        assert "because it raised ValueError" in text
        assert kinds(read(text).data[0]) == ["undrawn"]


class TestRoom:
    def test_ten_thousand_bugs_with_tables_stay_small(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        rows = (
            {f"feature_{n}": (n * k) % 97 / 7 for n in range(40)} for k in range(10_000)
        )
        values = [{"x1": row, "x2": row | {"feature_3": -1}, "d1": 0} for row in rows]
        text = page(made(values))
        assert len(text.encode()) < LARGEST_PAGE
        (line,) = read(text).data
        assert len(line["bugs"]) == 10_000
        assert all(bug[-1] for bug in line["bugs"])

    def test_ten_thousand_bugs_with_long_texts_and_images_stay_small(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        rng = np.random.default_rng(2)
        picture = rng.random((200, 200))
        values = [
            {"x1": picture, "x2": 1 - picture, "t": "<&>" * 1500, "n": n}
            for n in range(10_000)
        ]
        text = page(made(values))
        assert len(text.encode()) < LARGEST_PAGE
        (line,) = read(text).data
        assert len(line["bugs"]) == 10_000
        bare = sum(not bug[-1] for bug in line["bugs"])
        assert 0 < bare < 10_000
        assert f"{bare:,} bugs without values" in text

    def test_only_the_first_bugs_of_a_property_are_drawn(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        values = [{"x1": np.full((8, 8), n / 100)} for n in range(MOST_DRAWN + 5)]
        text = page(made(values))
        (line,) = read(text).data
        drawn = [kinds(line, n)[0] for n in range(MOST_DRAWN + 5)]
        assert drawn == ["images"] * MOST_DRAWN + ["undrawn"] * 5
        assert f"the first {MOST_DRAWN} bugs" in text

    def test_bugs_that_a_result_does_not_hold_are_counted(
        self, made: Maker, page: Page
    ) -> None:
        result = made([{"v1": 1}])
        counts = replace(result.counts, unique_bugs=12_001)
        text = page(replace(result, counts=counts))
        assert "12,000 more bugs not on this page" in text

    def test_one_property_cannot_take_the_room_of_another(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        large = made([{"t": "y" * 4000, "n": n} for n in range(5000)])
        small = made([{"v1": n} for n in range(10)])
        small.subject = replace(small.subject, path="other.nom")
        _, line = read(page(large, small)).data
        assert all(bug[-1] for bug in line["bugs"])

    def test_what_a_small_property_leaves_a_large_one_may_have(
        self, made: Maker, page: Page, read: Read
    ) -> None:
        large = made([{"t": "y" * 4000, "n": n} for n in range(1000)])
        small = made([{"v1": 1}])
        small.subject = replace(small.subject, path="other.nom")
        line, _ = read(page(large, small)).data
        assert all(bug[-1] for bug in line["bugs"])
