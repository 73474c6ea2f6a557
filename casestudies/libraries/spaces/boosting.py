"""The hyper-parameters of XGBoost, LightGBM and CatBoost."""

from typing import Any

_LIGHTGBM: dict[str, tuple[Any, ...]] = {
    "boosting_type": (
        {"boosting_type": "dart"},
        {"boosting_type": "dart", "xgboost_dart_mode": True},
        {"boosting_type": "dart", "drop_rate": 0.5, "skip_drop": 0.0},
        {"boosting_type": "dart", "uniform_drop": True},
        {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
    ),
    "num_leaves": (2, 3, 4, 7, 15),
    "max_depth": (1, 2, 3, 5),
    "learning_rate": (0.01, 0.5, 1.0),
    "min_child_weight": (0.0, 0.1, 1.0),
    "min_split_gain": (0.01, 0.1),
    "bagging": (
        {"subsample": 0.5, "subsample_freq": 1},
        {"subsample": 0.8, "subsample_freq": 2},
        {"data_sample_strategy": "goss"},
    ),
    "colsample_bytree": (0.5, 0.8),
    "feature_fraction_bynode": (0.5, 0.8),
    "reg_alpha": (0.1, 1.0),
    "reg_lambda": (0.1, 1.0, 10.0),
    "max_delta_step": (0.1, 1.0),
    "path_smooth": (0.1, 1.0, 10.0),
    "extra_trees": (True,),
    "linear_tree": (True, {"linear_tree": True, "linear_lambda": 0.1}),
    "monotone_constraints_method": ("intermediate", "advanced"),
    "monotone_penalty": (0.5, 1.0, 2.0),
    "boost_from_average": (False,),
    "max_bin": (3, 7, 15),
    "min_data_in_bin": (1, 10),
    "zero_as_missing": (True,),
    "use_missing": (False,),
    "enable_bundle": (False,),
    "categorical_feature": ([1], [2]),
    "max_cat_to_onehot": (1, 2),
    "cat_smooth": (0.0, 1.0),
    "cat_l2": (0.0, 1.0),
    "min_data_per_group": (1, 5),
    "use_quantized_grad": (
        True,
        {"use_quantized_grad": True, "quant_train_renew_leaf": True},
    ),
    "force_col_wise": (True,),
    "force_row_wise": (True,),
}
_LIGHTGBM_SIZES: dict[str, tuple[Any, ...]] = {
    "n_estimators": (1, 2, 5, 10, 20),
    "min_child_samples": (1, 2, 5),
}
_XGBOOST: dict[str, tuple[Any, ...]] = {
    "booster": (
        "gblinear",
        {"booster": "dart", "rate_drop": 0.3},
        {"booster": "dart", "rate_drop": 0.5, "normalize_type": "forest"},
        {"booster": "dart", "rate_drop": 0.3, "sample_type": "weighted"},
        {"booster": "dart", "one_drop": True},
    ),
    "tree_method": ("exact", "approx", "hist"),
    "grow_policy": ("lossguide",),
    "max_depth": (0, 1, 2, 3),
    "max_leaves": (2, 3, 5, 8),
    "learning_rate": (0.01, 0.1, 1.0),
    "gamma": (0.01, 0.1, 1.0),
    "min_child_weight": (0, 0.1, 5),
    "max_delta_step": (0.1, 1.0),
    "subsample": (0.5, 0.8),
    "colsample_bytree": (0.5, 0.8),
    "colsample_bylevel": (0.5,),
    "colsample_bynode": (0.5,),
    "reg_alpha": (0.1, 1.0),
    "reg_lambda": (0.0, 0.1, 10.0),
    "num_parallel_tree": (2, 4),
    "max_bin": (2, 3, 7, 15),
    "base_score": (0.2, 0.5),
    "multi_strategy": ("multi_output_tree",),
    "categories": (
        {"categorical": 1},
        {"categorical": 2},
        {"categorical": 2, "max_cat_to_onehot": 1},
        {"categorical": 1, "max_cat_to_onehot": 100},
    ),
    "max_cat_threshold": (1, 2),
}
_CATBOOST: dict[str, tuple[Any, ...]] = {
    "depth": (1, 2, 3, 4),
    "learning_rate": (0.03, 0.3, 1.0),
    "l2_leaf_reg": (0.0, 1.0, 10.0),
    "grow_policy": (
        "Depthwise",
        "Lossguide",
        {"grow_policy": "Depthwise", "min_data_in_leaf": 3},
        {"grow_policy": "Lossguide", "max_leaves": 5},
    ),
    "score_function": ("L2", "NewtonL2", "NewtonCosine", "Cosine"),
    "boosting_type": ("Ordered", "Plain"),
    "bootstrap_type": (
        "No",
        "MVS",
        {"bootstrap_type": "Bernoulli", "subsample": 0.6},
        {"bootstrap_type": "Bayesian", "bagging_temperature": 2.0},
    ),
    "random_strength": (0.0, 5.0),
    "leaf_estimation": (
        {"leaf_estimation_method": "Newton", "leaf_estimation_iterations": 1},
        {"leaf_estimation_method": "Newton", "leaf_estimation_iterations": 5},
        {"leaf_estimation_method": "Gradient", "leaf_estimation_iterations": 1},
        {"leaf_estimation_method": "Gradient", "leaf_estimation_iterations": 10},
        {"leaf_estimation_method": "Exact"},
    ),
    "leaf_estimation_backtracking": ("No", "AnyImprovement"),
    "boost_from_average": (True, False),
    "nan_mode": ("Max",),
    "border_count": (1, 3, 16),
    "feature_border_type": ("Uniform", "Median", "MinEntropy"),
    "model_shrink_rate": (0.1, 0.3),
    "langevin": ({"langevin": True, "diffusion_temperature": 100.0},),
    "rsm": (0.5,),
    "categories": (
        {"categorical": 1},
        {"categorical": 2},
        {"categorical": 2, "one_hot_max_size": 10},
    ),
    "has_time": (True,),
    "fold_permutation_block": (2,),
    "approx_on_full_history": (True,),
}
_ITERATIONS: dict[str, tuple[Any, ...]] = {"iterations": (1, 2, 5, 10, 20)}
_TREES: dict[str, tuple[Any, ...]] = {"n_estimators": (1, 2, 5, 10, 20)}
_WEIGHTED: dict[str, tuple[Any, ...]] = {"scale_pos_weight": (0.5, 3.0)}

# The first of each pair is always set: the defaults train hundreds of trees.
SPACES: dict[str, dict[str, tuple[Any, ...]]] = {
    "lightgbm.LGBMRegressor": _LIGHTGBM_SIZES
    | _LIGHTGBM
    | {
        "objective": (
            "regression_l1",
            "mape",
            "huber",
            "fair",
            "poisson",
            "gamma",
            "tweedie",
            {"objective": "quantile", "alpha": 0.1},
            {"objective": "quantile", "alpha": 0.9},
            {"objective": "poisson", "poisson_max_delta_step": 0.1},
        ),
        "reg_sqrt": (True,),
    },
    "lightgbm.LGBMClassifier": _LIGHTGBM_SIZES
    | _LIGHTGBM
    | {
        "objective": ("cross_entropy", "multiclassova"),
        "unbalanced": ({"is_unbalance": True}, {"scale_pos_weight": 3.0}),
        "sigmoid": (0.5, 2.0),
    },
    "xgboost.XGBRegressor": _TREES
    | _XGBOOST
    | {
        "objective": (
            "reg:squaredlogerror",
            "reg:absoluteerror",
            "reg:pseudohubererror",
            "reg:gamma",
            "count:poisson",
            "reg:tweedie",
            {"objective": "reg:quantileerror", "quantile_alpha": 0.1},
            {"objective": "reg:quantileerror", "quantile_alpha": 0.9},
        )
    },
    "xgboost.XGBClassifier": _TREES | _XGBOOST | _WEIGHTED,
    "catboost.CatBoostRegressor": _ITERATIONS
    | _CATBOOST
    | {
        "loss_function": (
            "MAE",
            "MAPE",
            "Poisson",
            "LogCosh",
            "Quantile:alpha=0.1",
            "Quantile:alpha=0.9",
            "Expectile:alpha=0.3",
            "Huber:delta=1.0",
            "Lq:q=3",
            "Tweedie:variance_power=1.5",
        )
    },
    "catboost.CatBoostClassifier": _ITERATIONS
    | _CATBOOST
    | {"loss_function": ("CrossEntropy", "MultiClass", "MultiClassOneVsAll")},
}
