"""Pipelines whose steps are converted, and small networks that are exported."""

from typing import Any

SPACES: dict[str, dict[str, tuple[Any, ...]]] = {
    "pipeline.Regressor": {
        "final": (
            "DecisionTreeRegressor",
            "LinearRegression",
            "KNeighborsRegressor",
            "HistGradientBoostingRegressor",
            "RandomForestRegressor",
        ),
        "impute": (
            {"strategy": "mean"},
            {"strategy": "median"},
            {"strategy": "most_frequent"},
            {"strategy": "constant", "fill_value": -1.0},
            {"strategy": "mean", "add_indicator": True},
        ),
        "step": (
            {"name": "StandardScaler"},
            {"name": "StandardScaler", "with_mean": False},
            {"name": "MinMaxScaler"},
            {"name": "MinMaxScaler", "clip": True},
            {"name": "MaxAbsScaler"},
            {"name": "RobustScaler"},
            {"name": "Normalizer", "norm": "max"},
            {"name": "Normalizer", "norm": "l1"},
            {"name": "Binarizer", "threshold": 1.0},
            {"name": "PolynomialFeatures", "degree": 2},
            {"name": "PolynomialFeatures", "interaction_only": True},
            {"name": "KBinsDiscretizer", "n_bins": 3},
            {"name": "KBinsDiscretizer", "n_bins": 3, "encode": "ordinal"},
            {"name": "KBinsDiscretizer", "n_bins": 2, "strategy": "uniform"},
            {"name": "OneHotEncoder", "handle_unknown": "ignore"},
            {"name": "OneHotEncoder", "drop": "first"},
            {"name": "OneHotEncoder", "drop": "if_binary"},
            {"name": "OneHotEncoder", "min_frequency": 3},
            {"name": "OneHotEncoder", "max_categories": 3},
            {"name": "OrdinalEncoder"},
            {"name": "PowerTransformer"},
            {"name": "QuantileTransformer", "n_quantiles": 5},
            {"name": "SplineTransformer"},
        ),
    },
    "torch.Network": {
        "layers": (1, 2, 3),
        "width": (1, 3, 8),
        "norm": ("BatchNorm1d", "LayerNorm"),
        "activation": ("GELU", "Softplus", "LeakyReLU", "Hardswish", "Softmax"),
        "dropout": (0.5,),
        "dtype": ("float64",),
    },
}
