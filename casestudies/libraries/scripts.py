"""Stand-alone scripts of findings: they import the library alone, train and print.

Each is made from the smallest configuration that breaks a promise.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from casestudies.libraries import learners
from casestudies.libraries.changes import Changes
from casestudies.libraries.configurations import Configuration
from casestudies.libraries.libraries import Libraries
from casestudies.libraries.pipelines import FINAL, SETTINGS

LONGEST = 20  # lines
MODULES = re.compile(
    r"\b(numpy|onnxruntime|skl2onnx|catboost|lightgbm|xgboost|sklearn\.\w+)\."
)


def script(promise: str, c: Configuration) -> str:
    """Return the text of a script, which prints what is expected and what is seen."""
    lines = SCRIPTS[promise](c)
    modules = sorted(set(MODULES.findall(" ".join(lines))))
    text = "\n".join([*(f"import {name}" for name in modules), "", *lines]) + "\n"
    assert len(text.splitlines()) <= LONGEST, text
    return re.sub(r"\bnan\b", 'float("nan")', text)


def maker(c: Configuration) -> str:
    """Return the text that makes the estimator of a configuration."""
    if learners.library(c) == "pipeline":
        return _pipeline(c)
    settings = {**c.settings, **learners.FIXED.get(learners.library(c), {})}
    settings |= {name: c.settings[name] for name in ("n_jobs",) if name in c.settings}
    if "Gradient" in c.learner or "Tree" in c.learner or "Forest" in c.learner:
        settings["random_state"] = 0
    categorical = settings.pop("categorical", None)
    if learners.library(c) == "catboost" and categorical is not None:
        settings["cat_features"] = [categorical]
    if learners.library(c) == "xgboost" and categorical is not None:
        types = ["c" if place == categorical else "q" for place in range(c.width)]
        settings |= {"enable_categorical": True, "feature_types": types}
    return f"{c.learner}({_given(settings)})"


def _given(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def _pipeline(c: Configuration) -> str:
    steps = []
    if "impute" in c.settings:
        steps.append(f"sklearn.impute.SimpleImputer({_given(c.settings['impute'])})")
    if "step" in c.settings:
        given = dict(c.settings["step"])
        kind = given.pop("name")
        steps.append(f"sklearn.preprocessing.{kind}({_given(given)})")
    name = c.settings["final"]
    steps.append(f"{FINAL[name]}.{name}({_given(SETTINGS.get(name, {}))})")
    return f"sklearn.pipeline.make_pipeline({', '.join(steps)})"


def data(c: Configuration) -> list[str]:
    """Return the lines of the data."""
    rows = f"{learners.table(c, c.rows).tolist()}"
    target = f"y = {[_plain(value) for value in c.target]}"
    if "categorical_features" in c.settings:  # of lists, it is no parameter
        return [f"X = numpy.array({rows})", target]
    return [f"X = {rows}", target]


def asking(c: Configuration) -> str:
    """Return the name of the method that gives numbers."""
    return (
        "predict_proba" if "Classifier" in c.learner or "NB" in c.learner else "predict"
    )


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value


def _monotone(c: Configuration) -> list[str]:
    domain = Libraries(c.learner)
    constrained = domain.with_monotone_constraint(c)
    low, high = domain.lower(c), domain.higher(c)
    answers = [domain.predict(constrained, rows) for rows in (low, high)]
    before, after = (a[:, 1] if a.ndim == 2 else a for a in answers)
    worst = int(((before - after) * domain.direction(c)).argmax())
    pair = learners.table(c, [low[worst], high[worst]]).tolist()
    taken = "[:, 1]" if asking(c) == "predict_proba" else ""
    word = "lower" if domain.direction(c) == 1 else "higher"
    return [
        *data(c),
        f"model = {maker(constrained)}.fit(X, y)",
        f"low, high = model.{asking(c)}({pair}){taken}",
        f'print("expected: the second is not {word} than the first")',
        'print("seen:", round(float(low), 6), round(float(high), 6))',
    ]


def _interaction(c: Configuration) -> list[str]:
    domain = Libraries(c.learner)
    apart = domain.with_interaction_constraint(c)
    corners = [
        domain.corner(c, *taken)
        for taken in ((True, True), (False, False), (True, False), (False, True))
    ]
    margins = [domain.margin(apart, rows) for rows in corners]
    gaps = np.abs(margins[0] + margins[1] - margins[2] - margins[3])
    worst = int(gaps.reshape(len(gaps), -1).max(axis=1).argmax())
    rows = [rows[worst].tolist() for rows in corners]
    ask = "decision_function" if "Classifier" in c.learner else "predict"
    asked = f"numpy.array({rows})" if "categorical_features" in c.settings else rows
    return [
        *data(c),
        f"model = {maker(apart)}.fit(X, y)",
        f"both, neither, first, others = model.{ask}({asked})",
        'print("expected: the first feature adds the same, whatever the others are")',
        'print("seen:", round(float(first - neither), 6), round(float(both - others), 6))',
    ]


def _compared(c: Configuration, one: str, other: str, fits: list[str]) -> list[str]:
    return [
        *data(c),
        *fits,
        'print("expected: the same numbers")',
        # The last digits are those of the machine.
        f'print("seen:", *(numpy.round(a, 6).tolist() for a in ({one}, {other})))',
    ]


def _weights(c: Configuration) -> list[str]:
    changes = Changes()
    c = changes.positive(changes.not_counting(c))
    ask = asking(c)
    copied = "[x for x, n in zip(X, w) for _ in range(n)]"
    fits = [
        f"w = {list(c.weights)}",
        f"weighted = {maker(c)}.fit(X, y, sample_weight=w)",
        f"copied = {maker(c)}.fit(",
        f"    {copied},",
        "    [t for t, n in zip(y, w) for _ in range(n)],",
        ")",
    ]
    return _compared(c, f"weighted.{ask}(X)", f"copied.{ask}(X)", fits)


def _zero_weights(c: Configuration) -> list[str]:
    c = Changes().not_counting(c)
    ask = asking(c)
    fits = [
        f"w = {list(c.weights)}",
        f"present = {maker(c)}.fit(X, y, sample_weight=w)",
        f"absent = {maker(c)}.fit(",
        "    [x for x, n in zip(X, w) if n],",
        "    [t for t, n in zip(y, w) if n],",
        "    sample_weight=[n for n in w if n],",
        ")",
    ]
    return _compared(c, f"present.{ask}(X)", f"absent.{ask}(X)", fits)


def _contributions(c: Configuration) -> list[str]:
    places = [c.settings["categorical"]] if "categorical" in c.settings else None
    fits = [
        f"model = {maker(c)}.fit(X, y)",
        f"pool = catboost.Pool(X, cat_features={places})",
        'shap = model.get_feature_importance(pool, type="ShapValues").sum(axis=-1)',
        'raw = model.predict(X, prediction_type="RawFormulaVal")',
    ]
    return _compared(c, "shap", "raw", fits)


def _threads(c: Configuration) -> list[str]:
    domain = Changes()
    fits = [
        f"{name} = {maker(domain.on_threads(c, count))}.fit(X, y)"
        for count, name in enumerate(("one", "two"), 1)
    ]
    return _compared(c, f"one.{asking(c)}(X)", f"two.{asking(c)}(X)", fits)


def _converted(c: Configuration) -> list[str]:
    whole = Changes().whole_numbers(c)
    ask = asking(c)
    fits = [
        f"model = {maker(whole)}.fit(X, y)",
        "x = numpy.array(X, numpy.float32)",
        *_CONVERTERS.get(learners.library(c), _to_onnx)(whole, ask),
        "session = onnxruntime.InferenceSession(onnx)",
        "seen = session.run(None, {session.get_inputs()[0].name: x})[-1]",
    ]
    return _compared(whole, f"model.{ask}(X)", "seen", fits)


def _to_onnx(c: Configuration, ask: str) -> list[str]:
    options = ", options={id(model): {'zipmap': False}}"
    given = f"model, x[:1]{options if ask == 'predict_proba' else ''}"
    return [
        f"onnx = skl2onnx.to_onnx({given}).SerializeToString()",
    ]


def _by_onnxmltools(c: Configuration, ask: str) -> list[str]:
    library = learners.library(c)
    is_plain = library == "lightgbm" and ask == "predict_proba"
    options = ", zipmap=False" if is_plain else ""
    return [
        "from onnxmltools import convert",
        "from onnxmltools.convert.common.data_types import FloatTensorType",
        f"types = [('X', FloatTensorType([None, {c.width}]))]",
        f"made = convert.convert_{library}(model, initial_types=types{options})",
        "onnx = made.SerializeToString()",
    ]


def _by_catboost(c: Configuration, ask: str) -> list[str]:
    return ["onnx = 'model.onnx'", "model.save_model(onnx, format='onnx')"]


_CONVERTERS = {
    "lightgbm": _by_onnxmltools,
    "xgboost": _by_onnxmltools,
    "catboost": _by_catboost,
}
SCRIPTS: dict[str, Callable[[Configuration], list[str]]] = {
    "monotone": _monotone,
    "interaction": _interaction,
    "weights_are_copies": _weights,
    "zero_weight_is_absence": _zero_weights,
    "contributions_sum": _contributions,
    "threads": _threads,
    "converted_is_same": _converted,
}
