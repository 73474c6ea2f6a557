"""Promises about training: what is the same model, and what a model keeps to."""

from casestudies.libraries.promises.sources import (
    ADABOOST,
    BOOSTING,
    CATBOOST,
    DEVELOP,
    FORESTS,
    GLOSSARY,
    HISTOGRAMS,
    IN_HISTOGRAMS,
    ISOTONIC,
    LIGHTGBM,
    LINEAR,
    LOGISTIC,
    PARAMETERS,
    TAKING_WEIGHTS,
    TREES,
    XGBOOST,
    Source,
)

_WEIGHTS = (
    "Intuitively, if all weights are integers, a weighted model or score should be "
    "equivalent to that calculated when repeating the sample the number of times "
    "specified in the weight."
)
_MULTIPLIED = (
    "Note that these weights will be multiplied with sample_weight (passed through the "
    "fit method) if sample_weight is specified."
)

TRAINING: dict[str, tuple[Source, ...]] = {
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
        Source(
            FORESTS,
            "The number of jobs to run in parallel. :meth:`fit`, :meth:`predict`, "
            ":meth:`decision_path` and :meth:`apply` are all parallelized over the trees.",
            "sklearn.ensemble._forest",
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
    "isotonic": (
        Source(
            (ISOTONIC,),
            "Determines whether the predictions should be constrained to increase or "
            "decrease with `X`.",
            "sklearn.isotonic",
        ),
    ),
    "scaled_features": (
        Source(
            (*TREES, *FORESTS, *BOOSTING, *HISTOGRAMS),
            "Even if tree based models are (almost) not affected by scaling, many other "
            "algorithms require features to be normalized",
            "https://scikit-learn.org/stable/auto_examples/preprocessing/"
            "plot_scaling_importance.html",
        ),
    ),
    "scaled_weights": (
        Source(
            (f"{LINEAR}ElasticNet",),
            "Internally, the `sample_weight` vector will be rescaled to sum to "
            "`n_samples`.",
            "sklearn.linear_model._coordinate_descent",
        ),
    ),
    "labels_are_names": (
        Source(
            TREES[1:],
            "The target values (class labels) as integers or strings.",
            "sklearn.tree._classes",
        ),
        Source(
            BOOSTING[1:],
            "Target values (strings or integers in classification, real numbers in "
            "regression)",
            "sklearn.ensemble._gb",
        ),
    ),
}
