"""Broken promises, each argued: why it is neither tolerance, our domain nor documented.

What the study finds without an argument here is listed as not judged.
"""

from dataclasses import dataclass
from typing import Any

GITHUB = "https://github.com"


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause of violations: which promise, of which learners, by which settings.

    `needs` are names of settings, or `name=value`; all are in a cause's configuration.
    """

    name: str
    promise: str
    learners: str  # the beginning of their names
    needs: tuple[str, ...]
    title: str
    argument: str
    report: str  # a public report, or what was found instead

    def explains(self, campaign: dict[str, Any], cause: dict[str, Any]) -> bool:
        """Tell whether this is the cause of a violation."""
        settings = {**cause["settings"]}
        settings |= {f"{name}={value}": value for name, value in settings.items()}
        if any(value != value for row in cause["rows"] for value in row):
            settings["missing values"] = True
        return (
            campaign["promise"] == self.promise
            and campaign["learner"].startswith(self.learners)
            and all(need in settings for need in self.needs)
        )


_NONE = "none found"
# Findings that one change of the library would mend: by the first of them.
SAME_CAUSE = {
    "xgboost-monotone-absolute": "xgboost-monotone-quantile",
    "sklearn-monotone-absolute": "sklearn-monotone-quantile",
    "sklearn-weights-dummy": "sklearn-weights-quantile",  # the weighted percentile
    "sklearn-zero-weight-naive-bayes": "sklearn-weights-naive-bayes",
    "onnx-histogram-link-gamma": "onnx-histogram-link",
}

FINDINGS = (
    Finding(
        "xgboost-monotone-quantile",
        "monotone",
        "xgboost",
        ("objective=reg:quantileerror",),
        "XGBoost: `reg:quantileerror` leaves monotone constraints",
        "Leaf values are set to quantiles of the residuals after the tree was built, "
        "without regard to the constraint. No page excludes this objective, nothing "
        "warns, and predictions differ in their leading digits.",
        _NONE,
    ),
    Finding(
        "xgboost-monotone-absolute",
        "monotone",
        "xgboost",
        ("objective=reg:absoluteerror",),
        "XGBoost: `reg:absoluteerror` leaves monotone constraints",
        "Leaf values are set to medians of the residuals after the tree was built, "
        "without regard to the constraint. No page excludes this objective.",
        _NONE,
    ),
    Finding(
        "sklearn-monotone-quantile",
        "monotone",
        "sklearn.ensemble.HistGradientBoosting",
        ("loss=quantile",),
        "scikit-learn: histogram boosting leaves `monotonic_cst` with `loss='quantile'`",
        "Leaf values are set to quantiles after the tree was built, without regard to the "
        "constraint. The parameter's text and the user guide name no such exception.",
        _NONE,
    ),
    Finding(
        "sklearn-monotone-absolute",
        "monotone",
        "sklearn.ensemble.HistGradientBoosting",
        ("loss=absolute_error",),
        "scikit-learn: histogram boosting leaves `monotonic_cst` with "
        "`loss='absolute_error'`",
        "Leaf values are set to medians after the tree was built, without regard to the "
        "constraint. The parameter's text and the user guide name no such exception.",
        _NONE,
    ),
    Finding(
        "lightgbm-monotone-dart",
        "monotone",
        "lightgbm",
        ("boosting_type=dart",),
        "LightGBM: `dart` leaves trees with the wrong sign where training ends early",
        "Trees are negated while they are dropped. Where no further split is found, "
        "training ends before they are turned back: a dump of the model shows trees with "
        "a negative shrinkage. No page says that `dart` is excluded from constraints.",
        _NONE,
    ),
    Finding(
        "lightgbm-monotone-quantized",
        "monotone",
        "lightgbm",
        ("quant_train_renew_leaf",),
        "LightGBM: `quant_train_renew_leaf` leaves monotone constraints",
        "Leaf values are computed anew from the true gradients, without regard to the "
        "constraint. The same kind of renewal is refused with an error for the L1, "
        "quantile and MAPE objectives, so it is meant to hold; here it is accepted.",
        f"for the objectives: [#3371]({GITHUB}/microsoft/LightGBM/issues/3371); for this "
        "setting none found",
    ),
    Finding(
        "lightgbm-monotone-smooth",
        "monotone",
        "lightgbm",
        ("path_smooth",),
        "LightGBM: `path_smooth` leaves monotone constraints",
        "Leaves with different numbers of rows are pulled towards their parents by "
        "different amounts, past each other. The parameter's text names no exception, "
        "and nothing warns.",
        _NONE,
    ),
    Finding(
        "lightgbm-monotone-method",
        "monotone",
        "lightgbm",
        ("monotone_constraints_method",),
        "LightGBM: monotone constraints do not hold with another "
        "`monotone_constraints_method`",
        "The methods are documented to constrain less, not to let the constraint go.",
        f"[#5358]({GITHUB}/microsoft/LightGBM/issues/5358), open",
    ),
    Finding(
        "sklearn-interaction-categorical",
        "interaction",
        "sklearn.ensemble.HistGradientBoosting",
        ("categorical_features",),
        "scikit-learn: histogram boosting applies `interaction_cst` to other columns "
        "where there is a categorical feature",
        "Categorical columns are moved to the front before training; the constraint's "
        "indices are not. The effect of a feature then depends on one that it may not "
        "interact with.",
        f"for `monotonic_cst` the same was fixed: [#28898]({GITHUB}/scikit-learn/"
        "scikit-learn/issues/28898); for `interaction_cst` none found",
    ),
    Finding(
        "xgboost-interaction-approx",
        "interaction",
        "xgboost",
        ("tree_method=approx", "num_parallel_tree"),
        "XGBoost: with `tree_method='approx'` and several parallel trees, features "
        "interact that may not",
        "A dump of the model shows both features in one branch of a later tree of the "
        "round: what one tree may not do, the next one does.",
        _NONE,
    ),
    Finding(
        "catboost-shap-trees",
        "contributions_sum",
        "catboost",
        ("grow_policy",),
        "CatBoost: SHAP values of trees that are not symmetric do not sum to the "
        "prediction",
        "The page has no exception for a grow policy, and the sums are off in their "
        "leading digits.",
        f"[#1703]({GITHUB}/catboost/catboost/issues/1703) (on GPU), "
        f"[#2136]({GITHUB}/catboost/catboost/issues/2136), both open",
    ),
    Finding(
        "sklearn-weights-quantile",
        "weights_are_copies",
        "sklearn.ensemble.HistGradientBoosting",
        ("loss",),
        "scikit-learn: histogram boosting takes another quantile where there are weights",
        "Without weights, quantiles of a leaf are interpolated; with weights they are "
        "not. Weights of one already give another model. It is no matter of binning or "
        "of `min_samples_leaf`, which are out of play here.",
        f"[#17370]({GITHUB}/scikit-learn/scikit-learn/issues/17370), of the weighted "
        "percentile; the learner is on scikit-learn's own list of expected failures of "
        "`check_sample_weight_equivalence`",
    ),
    Finding(
        "sklearn-weights-dummy",
        "weights_are_copies",
        "sklearn.dummy.DummyRegressor",
        ("strategy",),
        "scikit-learn: `DummyRegressor` takes another median or quantile where there are "
        "weights",
        "`np.median` and `np.percentile` interpolate, the weighted percentile does not.",
        f"[#34776]({GITHUB}/scikit-learn/scikit-learn/pull/34776) mends it, open; "
        f"[#17775]({GITHUB}/scikit-learn/scikit-learn/pull/17775), closed without change",
    ),
    Finding(
        "sklearn-weights-naive-bayes",
        "weights_are_copies",
        "sklearn.naive_bayes.GaussianNB",
        (),
        "scikit-learn: `GaussianNB` smooths by the variance of the rows, not of the "
        "weighted rows",
        "What `var_smoothing` is a portion of is computed without the weights.",
        _NONE,
    ),
    Finding(
        "sklearn-zero-weight-naive-bayes",
        "zero_weight_is_absence",
        "sklearn.naive_bayes.GaussianNB",
        (),
        "scikit-learn: in `GaussianNB` rows of weight zero count for the smoothing",
        "What `var_smoothing` is a portion of is computed from all rows.",
        _NONE,
    ),
    Finding(
        "lightgbm-threads-quantized",
        "threads",
        "lightgbm",
        ("use_quantized_grad",),
        "LightGBM: with quantized gradients, `deterministic=true` depends on the number "
        "of threads",
        "The sentence names different numbers of threads, no page excludes quantized "
        "training, and `force_row_wise` is set, as the page asks for.",
        _NONE,
    ),
    Finding(
        "onnx-histogram-link",
        "converted_is_same",
        "sklearn.ensemble.HistGradientBoostingRegressor",
        ("loss=poisson",),
        "skl2onnx: converted Poisson histogram boosting gives the logarithm",
        "The exponential at the end is left out; the converter accepts the loss.",
        f"[#1192]({GITHUB}/onnx/sklearn-onnx/issues/1192) is about rounding; for the "
        "link none found",
    ),
    Finding(
        "onnx-histogram-link-gamma",
        "converted_is_same",
        "sklearn.ensemble.HistGradientBoostingRegressor",
        ("loss=gamma",),
        "skl2onnx: converted gamma histogram boosting gives the logarithm",
        "The exponential at the end is left out; the converter accepts the loss.",
        _NONE,
    ),
    Finding(
        "onnx-histogram-categories",
        "converted_is_same",
        "sklearn.ensemble.HistGradientBoosting",
        ("categorical_features",),
        "skl2onnx: converted histogram boosting reads categories as numbers",
        "The converter accepts the model; codes are whole numbers that float32 has.",
        f"[#1101]({GITHUB}/onnx/sklearn-onnx/issues/1101), closed",
    ),
    Finding(
        "onnx-exponential-loss",
        "converted_is_same",
        "sklearn.ensemble.GradientBoostingClassifier",
        ("loss=exponential",),
        "skl2onnx: probabilities of converted boosting with the exponential loss",
        "The converter accepts the loss, and the converted probabilities of a row do not "
        "even sum to one, as this version of ONNX Runtime computes them.",
        f"support for the loss was asked for in [#1191]({GITHUB}/onnx/sklearn-onnx/issues/"
        f"1191); [#1253]({GITHUB}/onnx/sklearn-onnx/issues/1253) mentions that ONNX "
        "Runtime computes such scores otherwise since 1.26; for these probabilities none "
        "found",
    ),
    Finding(
        "onnx-isotonic",
        "converted_is_same",
        "sklearn.calibration.CalibratedClassifierCV",
        ("method=isotonic",),
        "skl2onnx: converted isotonic calibration does not interpolate",
        "scikit-learn interpolates between the thresholds; the graph takes the nearest of "
        "them, which changes leading digits.",
        f"[#200]({GITHUB}/onnx/sklearn-onnx/issues/200), open, and "
        f"[#1151]({GITHUB}/onnx/sklearn-onnx/issues/1151), closed",
    ),
    Finding(
        "onnx-normalizer-max",
        "converted_is_same",
        "pipeline",
        ("step={'name': 'Normalizer', 'norm': 'max'}",),
        "skl2onnx: a converted `Normalizer(norm='max')` divides by the largest number",
        "scikit-learn divides by the largest absolute number, so negative rows come out "
        "with another sign. The converter writes an operator with another definition.",
        f"[#793]({GITHUB}/onnx/sklearn-onnx/issues/793), closed; "
        f"[onnx#8452]({GITHUB}/onnx/onnx/issues/8452), open",
    ),
    Finding(
        "onnx-missing-values",
        "converted_is_same",
        "sklearn",
        ("missing values",),
        "skl2onnx: converted trees send missing values to another child",
        "scikit-learn's trees take NaN; the converter accepts the model without a word.",
        f"[#1253]({GITHUB}/onnx/sklearn-onnx/issues/1253), closed after this version",
    ),
    Finding(
        "onnx-lightgbm-zero-as-missing",
        "converted_is_same",
        "lightgbm",
        ("zero_as_missing",),
        "onnxmltools: converted LightGBM models forget `zero_as_missing`",
        "The dump of the model says `missing_type: Zero`; the converter knows `None` "
        "alone, and accepts the model.",
        "for other tools, such as [tidypredict#288]"
        f"({GITHUB}/tidymodels/tidypredict/issues/288); for this one none found",
    ),
    Finding(
        "onnx-lightgbm-root",
        "converted_is_same",
        "lightgbm",
        ("reg_sqrt",),
        "onnxmltools: converted LightGBM models with `reg_sqrt` give the root",
        "LightGBM squares the sum of the trees; the converter leaves that out, and "
        "accepts the model.",
        _NONE,
    ),
    Finding(
        "onnx-lightgbm-linear-tree",
        "converted_is_same",
        "lightgbm",
        ("linear_tree",),
        "onnxmltools: converted LightGBM models with `linear_tree` lose the linear models",
        "Each leaf becomes its constant; the converter accepts the model without a word.",
        f"[onnxruntime#25623]({GITHUB}/microsoft/onnxruntime/issues/25623), open",
    ),
    Finding(
        "onnx-xgboost-first-leaf",
        "converted_is_same",
        "xgboost.XGBClassifier",
        (),
        "onnxmltools: a converted `XGBClassifier` whose first tree has no split adds 0.5",
        "Where the first tree is a leaf of zero, the probability 0.5 that boosting starts "
        "from is written as if it were a margin. Balanced classes and few rows suffice.",
        f"[#566]({GITHUB}/onnx/onnxmltools/pull/566), open, for "
        f"[onnxruntime#11892]({GITHUB}/microsoft/onnxruntime/issues/11892)",
    ),
)


def finding_of(campaign: dict[str, Any], cause: dict[str, Any]) -> Finding | None:
    """Return the argument for a cause, None where it is not judged yet."""
    return next((f for f in FINDINGS if f.explains(campaign, cause)), None)
