"""Promises about answers: other ways to ask a model, which lead to the same."""

from casestudies.libraries.promises.sources import (
    ADABOOST,
    BOOSTING,
    CALIBRATED,
    CATBOOST,
    CONVERTED,
    FORESTS,
    HISTOGRAMS,
    IN_HISTOGRAMS,
    LIGHTGBM,
    LOGISTIC,
    NEIGHBOURS,
    TREES,
    XGBOOST,
    Source,
)

_STAGE = (
    "This method allows monitoring (i.e. determine error on testing set) after each "
    "stage."
)
_IMPORTANCES = (
    "The values of this array sum to 1, unless all trees are single node trees "
    "consisting of only the root node, in which case it will be an array of zeros."
)
_FLOAT32 = "Internally, it will be converted to ``dtype=np.float32``"

ANSWERS: dict[str, tuple[Source, ...]] = {
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
    "converted_is_same": (
        Source(
            CONVERTED,
            "This function produces an equivalent ONNX model of the given scikit-learn "
            "model.",
            "skl2onnx.convert",
        ),
        Source(CATBOOST, "'onnx' to export into ONNX-ML format", "catboost.core"),
        Source(
            LIGHTGBM,
            "This function produces an equivalent ONNX model of the given lightgbm model.",
            "onnxmltools.convert.lightgbm.convert",
        ),
        Source(
            XGBOOST,
            "This function produces an equivalent ONNX model of the given xgboost model.",
            "onnxmltools.convert.xgboost.convert",
        ),
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
    "rows_in_any_order": (
        Source(
            (HISTOGRAMS[1], TREES[1], FORESTS[1], BOOSTING[1], CALIBRATED),
            "check that method gives invariant results if applied on a subset with "
            "different sample order",
            "sklearn.utils.estimator_checks",
        ),
    ),
    "columns_by_name": (
        Source(
            ("pipeline.Regressor",),
            "This enables the user to pass X at transform time with extra columns which "
            "were not present in fit time, and the order of the columns doesn't matter.",
            "sklearn.compose._column_transformer",
        ),
    ),
}
