"""Other ways to a prediction, which a library says lead to the same one."""

import tempfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casestudies.libraries import learners
from casestudies.libraries.configurations import Configuration
from casestudies.libraries.learners import asked, library, table
from nomos import Discard

Array = NDArray[Any]
REMEMBERED = 16


class Routes:
    """Functions of the language that ask one model in several ways."""

    _models: OrderedDict[str, Any]

    def trained(self, c: Configuration) -> Any:
        """Return the model of a configuration; the last few are remembered."""
        models = self.__dict__.setdefault("_models", OrderedDict())
        key = repr(c)
        if key not in models:
            models[key] = learners.fit(c)
            while len(models) > REMEMBERED:
                models.popitem(last=False)
        return models[key]

    def staged(self, c: Configuration, rows: Any) -> Array:
        """Return the last of the predictions by stages."""
        model = self.trained(c)
        is_classes = hasattr(model, "staged_predict_proba")
        ask = model.staged_predict_proba if is_classes else model.staged_predict
        options = {}
        if c.settings.get("loss_function", "").startswith(("Poisson", "Tweedie")):
            options["prediction_type"] = "Exponent"  # the default of `predict` alone
        *_, last = asked(lambda: list(ask(table(c, rows), **options)))
        return np.asarray(last, float)

    def reloaded(self, c: Configuration, rows: Any) -> Array:
        """Predict with the model as it comes back from the library's own file."""
        return learners.answers(c, _reloaded(c, self.trained(c)), table(c, rows))

    def contributions(self, c: Configuration, rows: Any) -> Array:
        """Return what each feature adds to the margin, and the bias last."""
        model, given = self.trained(c), table(c, rows)
        match library(c):
            case "lightgbm":
                given = asked(model.predict, given, pred_contrib=True)
            case "xgboost":
                matrix = _matrix(c, rows)
                given = asked(model.get_booster().predict, matrix, pred_contribs=True)
            case _:
                pool = _pool(c, rows)
                given = asked(model.get_feature_importance, pool, type="ShapValues")
        given = np.asarray(given, float)
        if given.ndim == 2 and given.shape[1] != c.width + 1:  # classes side by side
            given = given.reshape(len(given), -1, c.width + 1)
        return given

    def total(self, contributions: Array) -> Array:
        """Sum over the features."""
        return np.asarray(contributions).sum(axis=-1)

    def pairwise(self, c: Configuration, rows: Any) -> Array:
        """Return what each pair of features adds to the margin."""
        model = self.trained(c)
        predict = model.get_booster().predict
        matrix = _matrix(c, rows)
        return np.asarray(asked(predict, matrix, pred_interactions=True), float)

    def one_by_one(self, c: Configuration, rows: Any) -> Array:
        """Predict for each row by itself."""
        model = self.trained(c)
        given = [learners.answers(c, model, table(c, [row])) for row in rows]
        return np.concatenate(given)

    def backwards(self, c: Configuration, rows: Any) -> Array:
        """Predict for the rows from the last to the first; answers come in their order."""
        given = table(c, rows)[::-1]
        return learners.answers(c, self.trained(c), given)[::-1]

    def renamed(self, c: Configuration, rows: Any) -> Array:
        """Train with words for the classes."""
        labels = np.array([f"class {int(label)}" for label in c.target])
        model = asked(asked(learners.new, c).fit, table(c, c.rows), labels)
        return learners.answers(c, model, table(c, rows))

    def by_names(self, c: Configuration, rows: Any, shift: int) -> Array:
        """Predict from a frame whose columns start with another one, then a new one."""
        from pandas import DataFrame

        from casestudies.libraries.pipelines import by_names

        names = [f"f{place}" for place in range(c.width)]
        model = asked(by_names, c, names)
        asked(model.fit, DataFrame(c.rows, columns=names), np.array(c.target))
        given = DataFrame(rows, columns=names)
        given = given[names[shift:] + names[:shift]].assign(new=1.0)
        return np.asarray(asked(model.predict, given), float)

    def fitted_again(self, c: Configuration, rows: Any) -> Array:
        """Train one estimator on other data first, then on these, and ask it."""
        model = asked(learners.new, c)
        learners.fit(c.chosen(range(len(c.rows) - 1, -1, -1)), model)
        return learners.answers(c, learners.fit(c, model), table(c, rows))

    def grown(self, c: Configuration, rows: Any) -> Array:
        """Train with half of the stages, then add the others by `warm_start`."""
        name = "max_iter" if "max_iter" in c.settings else "n_estimators"
        count = c.settings[name]
        if count < 2:
            raise Discard("there is no half of one stage")
        model = asked(learners.new, c.having(warm_start=True, **{name: count // 2}))
        learners.fit(c, model)
        model.set_params(**{name: count})
        return learners.answers(c, learners.fit(c, model), table(c, rows))

    def first_trees(self, c: Configuration, rows: Any, count: int) -> Array:
        """Predict with the first trees, by the option of `predict`."""
        model, given = self.trained(c), table(c, rows)
        match library(c):
            case "lightgbm":
                return asked(model.predict, given, num_iteration=count, raw_score=True)
            case "xgboost":
                options: dict[str, Any] = {"iteration_range": (0, count)}
                return asked(model.predict, given, output_margin=True, **options)
            case _:
                options = {"prediction_type": "RawFormulaVal", "ntree_end": count}
                return asked(model.predict, given, **options)

    def cut_to(self, c: Configuration, rows: Any, count: int) -> Array:
        """Predict with a model that has only its first trees."""
        model, given = self.trained(c), table(c, rows)
        match library(c):
            case "lightgbm":
                import lightgbm

                text = asked(model.booster_.model_to_string, num_iteration=count)
                short = lightgbm.Booster(model_str=text)
                return asked(short.predict, given, raw_score=True)
            case "xgboost":
                short = asked(lambda: model.get_booster()[0:count])
                return asked(short.predict, _matrix(c, rows), output_margin=True)
            case _:
                short = asked(model.copy)
                asked(short.shrink, count)
                return asked(short.predict, given, prediction_type="RawFormulaVal")

    def in_place(self, c: Configuration, rows: Any) -> Array:
        """Predict without a matrix of XGBoost."""
        booster = self.trained(c).get_booster()
        given = table(c, rows)
        return np.asarray(
            asked(booster.inplace_predict, given, validate_features=False), float
        )

    def by_matrix(self, c: Configuration, rows: Any) -> Array:
        """Predict from a matrix of XGBoost."""
        booster = self.trained(c).get_booster()
        return np.asarray(asked(booster.predict, _matrix(c, rows)), float)

    def in_float32(self, c: Configuration, rows: Any) -> Array:
        """Predict for rows in single precision."""
        given = table(c, rows).astype(np.float32)
        return learners.answers(c, self.trained(c), given)

    def sparse(self, c: Configuration, rows: Any) -> Array:
        """Train on a sparse matrix and ask for one."""
        from scipy.sparse import csr_matrix

        model = asked(learners.new, c)
        matrix = csr_matrix(np.array(c.rows))
        asked(model.fit, matrix, np.array(c.target))
        return learners.answers(c, model, csr_matrix(np.array(rows)))

    def averaged(self, c: Configuration, rows: Any) -> Array:
        """Average what the estimators of an ensemble say."""
        given = np.array(rows)
        single = [learners.answers(c, e, given) for e in self.trained(c).estimators_]
        return np.mean(single, axis=0)

    def importance_sum(self, c: Configuration) -> float:
        """Sum the importances of the features."""
        return float(asked(lambda: self.trained(c).feature_importances_.sum()))

    def has_splits(self, c: Configuration) -> bool:
        """Tell whether some tree is more than its root."""
        model = self.trained(c)
        trees = np.ravel(getattr(model, "estimators_", [model]))
        return any(tree.tree_.node_count > 1 for tree in trees)

    def chosen_class(self, c: Configuration, rows: Any) -> Array:
        """Return the place of the class that is predicted."""
        model = self.trained(c)
        labels = np.ravel(asked(model.predict, table(c, rows)))
        return np.searchsorted(model.classes_, labels)

    def regret(self, answers: Array, chosen: Array) -> float:
        """Return how much more probable another class is than the predicted one."""
        answers = np.asarray(answers)
        places = np.asarray(chosen, int)
        return float((answers.max(axis=1) - answers[range(len(places)), places]).max())

    def sum_error(self, answers: Array) -> float:
        """Return how far the probabilities of a row are from a sum of one."""
        answers = np.asarray(answers)
        if answers.min() < 0 or not np.isfinite(answers).all():
            return float("inf")
        return float(np.abs(answers.sum(axis=1) - 1).max())

    def through_onnx(self, c: Configuration, rows: Any) -> Array:
        """Predict with the model that a converter makes of this one."""
        from casestudies.libraries.converters import through_onnx

        return through_onnx(c, self.trained(c), rows)

    def by_network(self, c: Configuration, rows: Any) -> Array:
        """Ask a network of PyTorch as it is."""
        from casestudies.libraries.converters import network, tensor

        return np.asarray(network(c)(tensor(c, rows)).detach(), float)

    def by_program(self, c: Configuration, rows: Any) -> Array:
        """Ask what `torch.export` makes of the network, saved and loaded."""
        from casestudies.libraries.converters import exported, network, tensor

        program = exported(network(c), tensor(c, rows[:3]))
        return np.asarray(program(tensor(c, rows)).detach(), float)

    def summed(self, c: Configuration, rows: Any) -> Array:
        """Predict with the sum of this CatBoost model and itself, each by a half."""
        from catboost import sum_models

        model = self.trained(c)
        both = asked(sum_models, [model, model], weights=[0.25, 0.75])
        return np.asarray(
            asked(both.predict, table(c, rows), prediction_type="RawFormulaVal"), float
        )

    def distances(self, c: Configuration, rows: Any) -> Array:
        """Return the distances to the nearest neighbours."""
        return np.asarray(asked(self.trained(c).kneighbors, np.array(rows))[0])

    def step_by_step(self, c: Configuration, rows: Any) -> Array:
        """Predict with the steps of a pipeline, one after the other."""
        *steps, final = [step for _, step in self.trained(c).steps]
        given: Any = np.array(rows)
        for step in steps:
            given = asked(step.transform, given)
        return np.asarray(asked(final.predict, given), float)


def _matrix(c: Configuration, rows: Any) -> Any:
    """Return rows as XGBoost's own kind of data."""
    import xgboost

    types = learners.new(c).feature_types
    options = {"missing": c.settings.get("missing", np.nan), "nthread": 1}
    return asked(
        xgboost.DMatrix,
        np.array(rows),
        feature_types=types,
        enable_categorical=types is not None,
        **options,
    )


def _pool(c: Configuration, rows: Any) -> Any:
    """Return rows as CatBoost's own kind of data."""
    import catboost

    places = [c.settings["categorical"]] if "categorical" in c.settings else None
    return asked(catboost.Pool, table(c, rows), cat_features=places)


def _reloaded(c: Configuration, model: Any) -> Any:
    """Write a model to the library's own kind of file and read it."""
    endings = {"xgboost": ("json", "ubj"), "catboost": ("cbm", "json")}
    ending = endings.get(library(c), ("txt",) * 2)[c.number % 2]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / f"model.{ending}")
        match library(c):
            case "sklearn":
                import skops.io

                data = asked(skops.io.dumps, model)
                types = skops.io.get_untrusted_types(data=data)
                return asked(skops.io.loads, data, trusted=types)
            case "lightgbm":
                import lightgbm

                asked(model.booster_.save_model, path)
                return _Plain(lightgbm.Booster(model_file=path), model)
            case "xgboost":
                asked(model.save_model, path)
                fresh = learners.new(c)
                asked(fresh.load_model, path)
                return fresh
            case _:
                asked(model.save_model, path, format=ending)
                fresh = learners.new(c)
                return asked(fresh.load_model, path, format=ending)


class _Plain:
    """A Booster of LightGBM that answers as its estimator does."""

    def __init__(self, booster: Any, model: Any) -> None:
        self.booster = booster
        self.is_classes = hasattr(model, "predict_proba")

    def predict(self, rows: Any) -> Array:
        given = np.asarray(self.booster.predict(rows))
        if self.is_classes and given.ndim == 1:
            return np.column_stack([1 - given, given])
        return given
