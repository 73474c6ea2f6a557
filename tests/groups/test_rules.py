"""Rules are found where they were planted, and held up on cases they were not found on."""

from __future__ import annotations

import numpy as np
import pytest

from nomos.domain.schema import Flag, Integer, OneHot, Schema
from nomos.groups.features import Attribute, features_of, join_features, raw_features
from nomos.groups.rules import find_rule


def people(count: int, seed: int = 0) -> list[Attribute]:
    rng = np.random.default_rng(seed)
    return [
        Attribute("age", rng.integers(18, 80, count).astype(float)),
        Attribute("income", rng.integers(0, 100, count).astype(float)),
        Attribute("town", rng.integers(0, 3, count).astype(float), ("a", "b", "c")),
    ]


def halves(count: int) -> np.ndarray:
    return np.random.default_rng(99).random(count) < 0.5


def test_a_planted_box_is_named() -> None:
    features = people(6000)
    age, _, town = (feature.values for feature in features)
    y = (age <= 25) & (town == 1)
    found = find_rule(features, y, halves(6000))
    assert found is not None
    rule, met = found
    assert rule.text == "age <= 25 and town is b"
    assert (met == y).all()
    assert rule.violations == rule.cases == int((y & halves(6000)).sum())
    assert rule.share == 1.0
    assert rule.precision.low > 0.9
    assert rule.base == pytest.approx(y[halves(6000)].mean())


def test_both_bounds_of_a_feature_read_as_a_range() -> None:
    features = people(6000)
    y = (features[1].values >= 40) & (features[1].values <= 45)
    found = find_rule(features, y, halves(6000))
    assert found is not None
    assert found[0].text == "income from 40 to 45"


def test_where_all_violations_lack_a_value_the_others_are_looked_at() -> None:
    features = people(6000)
    y = features[0].values <= 25
    features[1] = Attribute("income", np.where(y, np.nan, features[1].values))
    found = find_rule(features, y, halves(6000))
    assert found is not None
    assert found[0].text == "age <= 25"


def test_violations_without_a_place_have_no_rule() -> None:
    features = people(4000)
    y = np.random.default_rng(5).random(4000) < 0.05
    assert find_rule(features, y, halves(4000)) is None


def test_a_rule_that_does_not_hold_up_is_not_shown() -> None:
    features, held_out = people(4000), halves(4000)
    chance = np.random.default_rng(5).random(4000) < 0.05
    box = (features[0].values <= 25) & ~held_out  # only where rules are found
    assert find_rule(features, box | chance, held_out) is None


def test_too_few_violations_have_no_rule() -> None:
    features = people(400)
    y = np.zeros(400, dtype=bool)
    y[:4] = True
    assert find_rule(features, y, halves(400)) is None


SCHEMA = Schema(Integer("age", 0, 99), Flag("member"), OneHot("town", ("a", "b")))


def test_a_changed_record_is_told_by_its_change() -> None:
    first = np.array([[20, 0, 1, 0], [30, 1, 0, 1]], dtype=np.float32)
    second = first.copy()
    second[:, 0] += (1, 5)
    raw = raw_features({"x1": first, "x2": second, "v": [1, 2]}, ("x1",), SCHEMA)
    found = {f.name: f for f in features_of(raw)}
    assert set(found) == {"age", "member", "town", "x2.age - x1.age", "v"}
    assert found["x2.age - x1.age"].values.tolist() == [1, 5]
    assert found["town"].levels == ("a", "b")
    assert found["member"].levels == ("0", "1")


@pytest.mark.parametrize("as_column", [np.stack, list])
def test_images_are_told_by_how_bright_they_are(as_column) -> None:
    images = as_column(
        [np.full((8, 8, 3), 10, np.uint8), np.eye(8 * 8 * 3).reshape(-1, 8, 8, 3)[0]]
    )
    raw = raw_features({"x1": images, "x2": images}, ("x1",), None)
    assert set(raw) == {"mean", "deviation", "x2.mean - x1.mean"} | {
        "x2.deviation - x1.deviation"
    }
    assert raw["mean"][0] == 10
    assert raw["deviation"][0] == 0 < raw["deviation"][1]


def test_records_of_other_kinds_are_described_by_their_fields() -> None:
    records = [{"text": "a b c", "stars": 3}, {"text": "d", "stars": 5}]
    raw = raw_features({"x": records}, ("x",), None)
    both = join_features(raw, raw)
    assert both["stars"].tolist() == [3, 5, 3, 5]
    many = {"text": np.array([f"{n} words" for n in range(50)] + ["one"], dtype=object)}
    (words,) = features_of(many)
    assert words.name == "words of text"
    assert words.values.tolist() == [2.0] * 50 + [1.0]


def test_the_interval_of_a_rule_covers_the_rate_where_inputs_are_drawn_repeatedly() -> (
    None
):
    covered = found = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        x = rng.random(400)
        bad = rng.random(400) < np.where(x > 0.8, 0.7, 0.02)
        held_out = rng.permutation(400) < 200
        drawn = rng.integers(0, 400, 4000)
        features = [Attribute("x", x[drawn])]
        rule = find_rule(features, bad[drawn], held_out[drawn], places=drawn)
        if rule is not None:
            met = np.ones(400, bool)
            for condition in rule[0].conditions:
                met &= Attribute("x", x).meets(condition)
            truth = bad[met].mean()
            precision = rule[0].precision
            covered += precision.low <= truth <= precision.high
            found += 1
    assert found > 90
    assert covered >= 0.92 * found
