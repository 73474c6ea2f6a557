"""The promises, each with the sentence of the documentation that makes it.

A source is a module, where the sentence stands in a docstring of the installed version,
or the address of a page.
"""

from dataclasses import dataclass

ENSEMBLE, LINEAR = "sklearn.ensemble.", "sklearn.linear_model."
LIGHTGBM = ("lightgbm.LGBMRegressor", "lightgbm.LGBMClassifier")
XGBOOST = ("xgboost.XGBRegressor", "xgboost.XGBClassifier")
CATBOOST = ("catboost.CatBoostRegressor", "catboost.CatBoostClassifier")
KINDS = ("Regressor", "Classifier")
HISTOGRAMS = tuple(f"{ENSEMBLE}HistGradientBoosting{kind}" for kind in KINDS)
BOOSTING = tuple(f"{ENSEMBLE}GradientBoosting{kind}" for kind in KINDS)
ADABOOST = (f"{ENSEMBLE}AdaBoostRegressor", f"{ENSEMBLE}AdaBoostClassifier")
TREES = ("sklearn.tree.DecisionTreeRegressor", "sklearn.tree.DecisionTreeClassifier")
FORESTS = (
    f"{ENSEMBLE}RandomForestRegressor",
    f"{ENSEMBLE}RandomForestClassifier",
    f"{ENSEMBLE}ExtraTreesRegressor",
    f"{ENSEMBLE}ExtraTreesClassifier",
)
CALIBRATED = "sklearn.calibration.CalibratedClassifierCV"
LOGISTIC = f"{LINEAR}LogisticRegression"
ISOTONIC = "sklearn.isotonic.IsotonicRegression"
NEIGHBOURS = tuple(f"sklearn.neighbors.KNeighbors{kind}" for kind in KINDS)
BAYES = ("sklearn.naive_bayes.GaussianNB", "sklearn.naive_bayes.CategoricalNB")
# Not trees and forests: which of equally good splits they take is documented as random.
TAKING_WEIGHTS = (
    *(f"{LINEAR}{name}" for name in ("LinearRegression", "Ridge", "ElasticNet")),
    *(f"{LINEAR}{name}" for name in ("PoissonRegressor", "BayesianRidge")),
    f"{LINEAR}RidgeClassifier",
    *BAYES,
    "sklearn.dummy.DummyRegressor",
    "sklearn.dummy.DummyClassifier",
    ISOTONIC,
    *HISTOGRAMS,
)
# Not neighbours: which of several at the same distance they take is documented as open.
CONVERTED = (*TREES, *FORESTS[:2], *HISTOGRAMS, *BOOSTING, LOGISTIC, BAYES[0])
CONVERTED += (CALIBRATED, "pipeline.Regressor")
GLOSSARY = "https://scikit-learn.org/stable/glossary.html#term-sample_weight"
IN_HISTOGRAMS = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"
DEVELOP = "https://scikit-learn.org/stable/developers/develop.html"
PARAMETERS = "https://lightgbm.readthedocs.io/en/stable/Parameters.html"


@dataclass(frozen=True, slots=True)
class Source:
    """A sentence of the documentation, where it stands, and for which learners."""

    learners: tuple[str, ...]
    sentence: str
    where: str


def learners_of(promise: str) -> list[str]:
    """Return the learners that make a promise."""
    return [learner for source in PROMISES[promise] for learner in source.learners]


_WEIGHTS = (
    "Intuitively, if all weights are integers, a weighted model or score should be "
    "equivalent to that calculated when repeating the sample the number of times "
    "specified in the weight."
)
_STAGE = (
    "This method allows monitoring (i.e. determine error on testing set) after each "
    "stage."
)
_MULTIPLIED = (
    "Note that these weights will be multiplied with sample_weight (passed through the "
    "fit method) if sample_weight is specified."
)
_IMPORTANCES = (
    "The values of this array sum to 1, unless all trees are single node trees "
    "consisting of only the root node, in which case it will be an array of zeros."
)
_FLOAT32 = "Internally, it will be converted to ``dtype=np.float32``"

PROMISES: dict[str, tuple[Source, ...]] = {
    "monotone": (
        Source(
            LIGHTGBM,
            "used for constraints of monotonic features; 1 means increasing, -1 means "
            "decreasing, 0 means non-constraint",
            f"{PARAMETERS}#monotone_constraints",
        ),
        Source(
            XGBOOST,
            "XGBoost has the ability to enforce monotonicity constraints on any features "
            "used in a boosted model.",
            "https://xgboost.readthedocs.io/en/stable/tutorials/monotonic.html",
        ),
        Source(CATBOOST, "Monotone constraints for features.", "catboost.core"),
        Source(
            HISTOGRAMS,
            "Monotonic constraint to enforce on each feature are specified using the "
            "following integer values",
            IN_HISTOGRAMS,
        ),
        Source(
            (*TREES, "sklearn.tree.ExtraTreeRegressor", *FORESTS),
            "Indicates the monotonicity constraint to enforce on each feature.",
            "sklearn.tree._classes",
        ),
    ),
    "interaction": (
        Source(
            LIGHTGBM,
            "controls which features can appear in the same branch",
            f"{PARAMETERS}#interaction_constraints",
        ),
        Source(
            XGBOOST,
            "Features/parameters that are not mentioned here are universally supported "
            "for all 3 tree methods (for instance, column sampling and constraints).",
            "https://xgboost.readthedocs.io/en/stable/treemethod.html",
        ),
        Source(
            HISTOGRAMS,
            "Specify interaction constraints, the sets of features which can interact "
            "with each other in child node splits.",
            IN_HISTOGRAMS,
        ),
    ),
    "weights_are_copies": (Source(TAKING_WEIGHTS, _WEIGHTS, GLOSSARY),),
    "zero_weight_is_absence": (Source(TAKING_WEIGHTS, _WEIGHTS, GLOSSARY),),
    "class_weight_multiplies": (
        Source(
            LIGHTGBM[1:],
            "Note, that these weights will be multiplied with ``sample_weight`` (passed "
            "through the ``fit`` method) if ``sample_weight`` is specified.",
            "lightgbm.sklearn",
        ),
        Source((TREES[1], FORESTS[3]), _MULTIPLIED, "sklearn.tree._classes"),
        Source((LOGISTIC,), _MULTIPLIED, "sklearn.linear_model._logistic"),
    ),
    "staged_ends_in_prediction": (
        Source(CATBOOST, "Predict target at each stage for data.", "catboost.core"),
        Source(BOOSTING, _STAGE, "sklearn.ensemble._gb"),
        Source(HISTOGRAMS, _STAGE, IN_HISTOGRAMS),
        Source(
            ADABOOST,
            "monitoring, such as to determine the score on a test set after each boost",
            "sklearn.ensemble._weight_boosting",
        ),
    ),
    "saved_is_same": (
        Source(LIGHTGBM, "Save Booster to file.", "lightgbm.basic"),
        Source(
            XGBOOST,
            "The model is saved in an XGBoost internal format which is universal among "
            "the various XGBoost interfaces.",
            "xgboost.core",
        ),
        Source(CATBOOST, "Save the model to a file.", "catboost.core"),
        Source(
            (*HISTOGRAMS, TREES[0], FORESTS[1], BOOSTING[0], LOGISTIC, CALIBRATED),
            "Load an object saved with the skops persistence format.",
            "skops.io._persist",
        ),
    ),
    "contributions_sum": (
        Source(
            LIGHTGBM,
            "with ``pred_contrib`` we return a matrix with an extra column, where the "
            "last column is the expected value.",
            "lightgbm.sklearn",
        ),
        Source(
            XGBOOST,
            "The sum of all feature contributions is equal to the raw untransformed "
            "margin value of the prediction.",
            "xgboost.core",
        ),
        Source(
            CATBOOST,
            "For a given object the sum ... is equal to the prediction on this object.",
            "https://catboost.ai/docs/en/concepts/shap-values",
        ),
    ),
    "pairs_sum": (
        Source(
            XGBOOST,
            "The sum of each row (or column) of the interaction values equals the "
            "corresponding SHAP value (from pred_contribs)",
            "xgboost.core",
        ),
    ),
    "row_by_row": (
        Source(
            (HISTOGRAMS[0], TREES[0], FORESTS[0], BOOSTING[0], LOGISTIC, NEIGHBOURS[0]),
            "apply function on the whole set and on mini batches",
            "sklearn.utils.estimator_checks",
        ),
    ),
    "fit_again": (
        Source(
            (*HISTOGRAMS, *BOOSTING, TREES[0], FORESTS[0], ADABOOST[0], LOGISTIC),
            "When ``fit`` is called, any previous call to ``fit`` should be ignored.",
            DEVELOP,
        ),
    ),
    "threads": (
        Source(
            LIGHTGBM,
            "setting this to true should ensure the stable results when using the same "
            "data and the same parameters (and different num_threads)",
            f"{PARAMETERS}#deterministic",
        ),
    ),
    "missing_marker": (
        Source(
            XGBOOST,
            "Value in the data which needs to be present as a missing value.",
            "xgboost.sklearn",
        ),
    ),
    "missing_is_extreme": (
        Source(
            CATBOOST,
            "each missing value will be processed as the minimum numerical value.",
            "catboost.core",
        ),
    ),
    "negative_category_is_missing": (
        Source(
            LIGHTGBM,
            "All negative values in categorical features will be treated as missing "
            "values.",
            "lightgbm.sklearn",
        ),
        Source(
            HISTOGRAMS,
            "Negative values for categorical features encoded as numeric dtypes are "
            "treated as missing values.",
            IN_HISTOGRAMS,
        ),
    ),
    "sparse_is_dense": (
        Source(
            LIGHTGBM,
            "When zero_as_missing=false (default), the unrecorded values in sparse "
            "matrices (and LightSVM) are treated as zeros.",
            "https://lightgbm.readthedocs.io/en/stable/Advanced-Topics.html",
        ),
    ),
    "converted_is_same": (
        Source(
            CONVERTED,
            "This function produces an equivalent ONNX model of the given scikit-learn "
            "model.",
            "skl2onnx.convert",
        ),
        Source(CATBOOST, "'onnx' to export into ONNX-ML format", "catboost.core"),
    ),
    "exported_is_same": (
        Source(
            ("torch.Network",),
            "produces a traced graph representing only the Tensor computation of the "
            "function in an Ahead-of-Time (AOT) fashion, which can subsequently be "
            "executed with different inputs or serialized.",
            "torch.export",
        ),
    ),
    "grown_is_same": (
        Source(
            BOOSTING,
            "When set to ``True``, reuse the solution of the previous call to fit and "
            "add more estimators to the ensemble",
            "sklearn.ensemble._gb",
        ),
        Source(
            HISTOGRAMS,
            "When set to ``True``, reuse the solution of the previous call to fit and "
            "add more estimators to the ensemble.",
            IN_HISTOGRAMS,
        ),
    ),
    "first_trees": (
        Source(
            LIGHTGBM, "Index of the iteration that should be saved.", "lightgbm.basic"
        ),
        Source(
            XGBOOST,
            "Specifies which layer of trees are used in prediction.",
            "xgboost.core",
        ),
        Source(
            CATBOOST,
            "Leave the trees with indices from the interval [ntree_start, ntree_end) "
            "(zero-based indexing).",
            "catboost.core",
        ),
    ),
    "in_place": (
        Source(
            XGBOOST,
            "Run prediction in-place when possible, Unlike :py:meth:`predict` method, "
            "inplace prediction does not cache the prediction result.",
            "xgboost.core",
        ),
    ),
    "float32_rows": (
        Source(TREES, _FLOAT32, "sklearn.tree._classes"),
        Source(BOOSTING, _FLOAT32, "sklearn.ensemble._gb"),
        Source(
            FORESTS,
            "Internally, its dtype will be converted to ``dtype=np.float32``.",
            "sklearn.ensemble._forest",
        ),
    ),
    "forest_is_mean": (
        Source(
            FORESTS[::2],
            "The predicted regression target of an input sample is computed as the mean "
            "predicted regression targets of the trees in the forest.",
            "sklearn.ensemble._forest",
        ),
        Source(
            FORESTS[1::2],
            "The predicted class probabilities of an input sample are computed as the "
            "mean predicted class probabilities of the trees in the forest.",
            "sklearn.ensemble._forest",
        ),
    ),
    "sum_of_models": (
        Source(
            CATBOOST,
            "Blend trees and counters of two or more trained CatBoost models into a new "
            "model. Leaf values can be individually weighted for each input model.",
            "https://catboost.ai/docs/en/concepts/python-reference_sum_models",
        ),
    ),
    "same_distances": (
        Source(
            NEIGHBOURS,
            "Algorithm used to compute the nearest neighbors",
            "sklearn.neighbors._regression",
        ),
    ),
    "pipeline_is_steps": (
        Source(
            ("pipeline.Regressor",),
            "Transform the data, and apply `predict` with the final estimator.",
            "sklearn.pipeline",
        ),
    ),
    "probabilities_sum": (
        Source(
            LIGHTGBM[1:],
            "Return the predicted probability for each class for each sample.",
            "lightgbm.sklearn",
        ),
        Source(
            XGBOOST[1:],
            "probability of each data example being of a given class.",
            "xgboost.sklearn",
        ),
        Source(CATBOOST[1:], "Predict class probability with X.", "catboost.core"),
        Source(
            (FORESTS[1], FORESTS[3]),
            "Predict class probabilities for X.",
            "sklearn.ensemble._forest",
        ),
        Source(
            (CALIBRATED,),
            "Calibrated probabilities of classification.",
            "sklearn.calibration",
        ),
    ),
    "most_probable": (
        Source(
            (FORESTS[1], FORESTS[3]),
            "the predicted class is the one with highest mean probability estimate "
            "across the trees.",
            "sklearn.ensemble._forest",
        ),
        Source(
            (CALIBRATED,),
            "The predicted class is the class that has the highest probability",
            "sklearn.calibration",
        ),
    ),
    "importances_sum": (
        Source(FORESTS, _IMPORTANCES, "sklearn.ensemble._forest"),
        Source(BOOSTING, _IMPORTANCES, "sklearn.ensemble._gb"),
    ),
    "isotonic": (
        Source(
            (ISOTONIC,),
            "Determines whether the predictions should be constrained to increase or "
            "decrease with `X`.",
            "sklearn.isotonic",
        ),
    ),
}
