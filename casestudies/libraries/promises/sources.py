"""What a promise is made of, and the learners that make them."""

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
