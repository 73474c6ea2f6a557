"""The hyper-parameters of scikit-learn's estimators."""

from typing import Any

Space = dict[str, tuple[Any, ...]]

_TREE: Space = {
    "splitter": ("random",),
    "max_depth": (1, 2, 3, 5),
    "min_samples_split": (3, 5),
    "min_samples_leaf": (2, 3, 5),
    "min_weight_fraction_leaf": (0.05, 0.2),
    "max_features": (1, 0.5, "sqrt", "log2"),
    "max_leaf_nodes": (2, 3, 5, 8),
    "min_impurity_decrease": (0.001, 0.01, 0.1),
    "ccp_alpha": (0.001, 0.01, 0.1),
}
_FOREST: Space = {
    "n_estimators": (1, 2, 5, 10),
    **{name: values for name, values in _TREE.items() if name != "splitter"},
    "sampling": (
        {"bootstrap": True, "max_samples": 0.5},
        {"bootstrap": False},
        {"bootstrap": True, "oob_score": True},
    ),
}
_TREE_REGRESSION: Space = {"criterion": ("absolute_error", "poisson")}
_TREE_CLASSES: Space = {
    "criterion": ("entropy", "log_loss"),
    "class_weight": ("balanced",),
}
_HISTOGRAMS: Space = {
    "max_iter": (1, 2, 5, 10, 20),
    "min_samples_leaf": (1, 2, 5),
    "learning_rate": (0.01, 0.5, 1.0),
    "max_leaf_nodes": (2, 3, 5, 8),
    "max_depth": (1, 2, 3),
    "l2_regularization": (0.1, 1.0, 10.0),
    "max_features": (0.5, 0.8),
    "max_bins": (2, 3, 7, 15),
    "categorical_features": ([1], [2]),
    "interaction_cst": ("no_interactions", "pairwise"),
}
_BOOSTING: Space = {
    "n_estimators": (1, 2, 5, 10),
    "learning_rate": (0.01, 0.5, 1.0),
    "subsample": (0.5, 0.8),
    "max_depth": (1, 2, 4),
    "min_samples_leaf": (2, 5),
    "min_weight_fraction_leaf": (0.05, 0.2),
    "max_features": (1, 0.5),
    "max_leaf_nodes": (2, 3, 5),
    "min_impurity_decrease": (0.01, 0.1),
    "ccp_alpha": (0.001, 0.01),
    "init": ("zero",),
}
_LINEAR: Space = {"fit_intercept": (False,)}
_EXACT: Space = {"tol": (1e-12,), "max_iter": (100_000,)}

SPACES: dict[str, Space] = {
    "sklearn.tree.DecisionTreeRegressor": _TREE | _TREE_REGRESSION,
    "sklearn.tree.DecisionTreeClassifier": _TREE | _TREE_CLASSES,
    "sklearn.tree.ExtraTreeRegressor": _TREE | _TREE_REGRESSION,
    "sklearn.ensemble.RandomForestRegressor": _FOREST | _TREE_REGRESSION,
    "sklearn.ensemble.RandomForestClassifier": _FOREST | _TREE_CLASSES,
    "sklearn.ensemble.ExtraTreesRegressor": _FOREST | _TREE_REGRESSION,
    "sklearn.ensemble.ExtraTreesClassifier": _FOREST | _TREE_CLASSES,
    "sklearn.ensemble.HistGradientBoostingRegressor": _HISTOGRAMS
    | {
        "loss": (
            "absolute_error",
            "gamma",
            "poisson",
            {"loss": "quantile", "quantile": 0.1},
            {"loss": "quantile", "quantile": 0.9},
        )
    },
    "sklearn.ensemble.HistGradientBoostingClassifier": _HISTOGRAMS
    | {"class_weight": ("balanced",)},
    "sklearn.ensemble.GradientBoostingRegressor": _BOOSTING
    | {
        "loss": (
            "absolute_error",
            "huber",
            {"loss": "quantile", "alpha": 0.1},
            {"loss": "quantile", "alpha": 0.9},
        )
    },
    "sklearn.ensemble.GradientBoostingClassifier": _BOOSTING
    | {"loss": ("exponential",)},
    "sklearn.ensemble.AdaBoostRegressor": {
        "n_estimators": (1, 2, 5, 10),
        "learning_rate": (0.1, 0.5),
        "loss": ("square", "exponential"),
    },
    "sklearn.ensemble.AdaBoostClassifier": {
        "n_estimators": (1, 2, 5, 10),
        "learning_rate": (0.1, 0.5),
    },
    "sklearn.linear_model.LinearRegression": _LINEAR | {"positive": (True,)},
    "sklearn.linear_model.Ridge": _LINEAR
    | _EXACT
    | {
        "alpha": (0.1, 10.0),
        "solver": ("svd", "cholesky", "lsqr", "sparse_cg", "lbfgs"),
        "positive": ({"positive": True, "solver": "lbfgs"},),
    },
    "sklearn.linear_model.ElasticNet": _LINEAR
    | _EXACT
    | {
        "alpha": (0.01, 0.1),
        "l1_ratio": (0.0, 0.2, 1.0),
        "positive": (True,),
        "precompute": (True,),
    },
    "sklearn.linear_model.HuberRegressor": _LINEAR
    | _EXACT
    | {"epsilon": (1.1, 2.0), "alpha": (0.01, 1.0)},
    "sklearn.linear_model.PoissonRegressor": _LINEAR
    | _EXACT
    | {"alpha": (0.0, 0.1), "solver": ("newton-cholesky",)},
    "sklearn.linear_model.BayesianRidge": _LINEAR
    | {"compute_score": (True,), "tol": (1e-10,)},
    "sklearn.linear_model.LogisticRegression": _LINEAR
    | _EXACT
    | {
        "C": (0.1, 10.0),
        "solver": ("newton-cg", "newton-cholesky"),
        "class_weight": ("balanced",),
    },
    "sklearn.linear_model.RidgeClassifier": _LINEAR
    | {"alpha": (0.1, 10.0), "class_weight": ("balanced",)},
    "sklearn.kernel_ridge.KernelRidge": {
        "alpha": (0.1, 10.0),
        "kernel": ("rbf", "laplacian"),
    },
    "sklearn.naive_bayes.GaussianNB": {"var_smoothing": (1e-6, 1e-2)},
    "sklearn.naive_bayes.CategoricalNB": {
        "alpha": (0.1, 10.0),
        "fit_prior": (False,),
        "min_categories": (10,),
    },
    "sklearn.dummy.DummyRegressor": {
        "strategy": (
            "median",
            {"strategy": "quantile", "quantile": 0.1},
            {"strategy": "quantile", "quantile": 0.75},
        )
    },
    "sklearn.dummy.DummyClassifier": {"strategy": ("most_frequent", "prior")},
    "sklearn.isotonic.IsotonicRegression": {
        "increasing": (False, "auto"),
        "bounds": ({"y_min": 0.0}, {"y_max": 1.0}, {"y_min": 0.0, "y_max": 1.0}),
        "out_of_bounds": ("clip",),
    },
    "sklearn.neighbors.KNeighborsRegressor": {
        "n_neighbors": (1, 2, 3),
        "weights": ("distance",),
        "metric": ("manhattan", "chebyshev", "euclidean"),
        "leaf_size": (1, 5),
    },
    "sklearn.neighbors.KNeighborsClassifier": {
        "n_neighbors": (1, 2, 3),
        "weights": ("distance",),
        "metric": ("manhattan", "chebyshev", "euclidean"),
    },
    "sklearn.calibration.CalibratedClassifierCV": {
        "method": ("isotonic", "temperature"),
        "cv": (2, 3),
        "ensemble": (False,),
        "estimator": ("LinearSVC", "DecisionTreeClassifier", "GaussianNB"),
    },
}
