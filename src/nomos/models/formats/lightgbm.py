"""Models that LightGBM saved, or holds in memory: their answers, trees and training."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import ModelError, NotProvable
from nomos.models.extras import need, told_as
from nomos.models.formats.boosters import Booster
from nomos.models.kinds import ModelKind
from nomos.structures.categories import CategorySplits
from nomos.structures.model import DOUBLE, ModelColumns, as_they_are
from nomos.structures.parameters import Parameters
from nomos.structures.trees import Tree, Trees, place_values

_MARKS = (b"tree\nversion=", b"tree\r\nversion=")
_END = "\nend of trees\n"
# What a tree of LightGBM has for each of its forks.
_FORKS = (
    "split_feature", "threshold", "decision_type", "split_gain", "internal_value",
    "internal_weight", "internal_count", "left_child", "right_child",
)  # fmt: skip
_MOST_WAYS = 10_000  # in which names are tried on columns
_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
_PARAMETERS = (
    *("learning_rate", "num_leaves", "max_depth", "lambda_l1", "lambda_l2", "seed"),
    *("min_data_in_leaf", "feature_fraction", "bagging_fraction"),
    "monotone_constraints",
)


class LightgbmModel(Booster):
    """A booster of LightGBM."""

    def __init__(
        self, booster: Any, objective: str, name: str, kept: str = "null"
    ) -> None:
        super().__init__(name)
        self.booster, self.objective = booster, objective
        self.categories = self._match_names(json.loads(kept) or [])
        self.width = booster.num_feature()
        self.columns = booster.feature_name()
        classes = booster.num_model_per_iteration()
        if objective == "binary" or classes > 1:
            self.classes = np.arange(max(classes, 2))

    def _match_names(self, names: list[list[Any]]) -> dict[int, Sequence[Any]]:
        """Return the names of categories by column; they are kept in the columns' order."""
        infos = self.booster.dump_model(num_iteration=1)["feature_infos"]
        columns = enumerate(self.booster.feature_name())
        told = {p: infos.get(name, {}).get("values") for p, name in columns}
        places = {place: max(values) for place, values in told.items() if values}
        if not names:
            return dict.fromkeys(places, ())
        # It keeps also the names of categories that no tree asks for.
        few = math.comb(len(names), len(places)) <= _MOST_WAYS
        pairs = [
            (way, [len(n) - most for n, most in zip(way, places.values(), strict=True)])
            for way in (combinations(names, len(places)) if few else ())
        ]
        fits = [way for way, more in pairs if {*more} <= {1}]
        fits = fits or [way for way, more in pairs if min(more) >= 1]
        ways = {json.dumps(way): way for way in fits}
        if len(ways) != 1:
            raise ModelError(
                f"{self.name} has the names of {len(names)} categories, and splits by "
                f"{len(places)}: which they are is not known"
            )
        return dict(zip(places, *ways.values(), strict=True))

    def _predict_numbers(self, rows: Any) -> Array:
        answer: Array = self.booster.predict(rows, num_threads=1)
        return answer

    def read_structure(self, width: int) -> Trees:
        """Return the model's trees."""
        columns = as_they_are(width, self._prepare_rows)
        return _read_booster(self.booster, self.classes, columns)


def load_lightgbm(path: Path, *, trust: bool = False) -> LightgbmModel:
    """Load a LightGBM file; there is nothing in it that would need trust."""
    lightgbm = need("lightgbm", extra="lightgbm", what="LightGBM models")
    try:
        text = path.read_text(encoding="utf-8")
    except ValueError:
        raise ModelError(f"{path} is no readable LightGBM model: no text") from None
    with told_as(f"{path} is no readable LightGBM model"):
        # The parameters after the trees are for training.
        booster = lightgbm.Booster(model_str=_whole_trees(text))
    objective = re.search(r"^objective=(\S+)", text, re.MULTILINE)
    told = objective[1] if objective else "custom"
    kept = re.search(r"^pandas_categorical:(.*)$", text, re.MULTILINE)
    return LightgbmModel(booster, told, str(path), kept[1] if kept else "null")


def _whole_trees(text: str) -> str:
    """Return a model's text up to the end of its trees; ValueError where they are not.

    LightGBM ends the process at trees that are cut short or damaged.
    """
    told = re.search(r"^tree_sizes=([\d ]*)$", text, re.MULTILINE)
    sizes = [int(size) for size in told[1].split()] if told else []
    first, last = text.find("\nTree=0\n"), text.find(_END)
    all_trees = text[first + 1 : last + 1]
    trees = all_trees.split("\nTree=")
    if (
        min(first, last) < 0
        or "\nend of parameters\n" not in text[last:]
        or len(trees) != len(sizes)
        or len(all_trees.encode()) != sum(sizes)
        or re.search(r"[^\n\r -~]", all_trees)
        or not all(map(_is_whole_tree, trees))
    ):
        raise ValueError("its trees are cut short or damaged")
    return text[: last + len(_END)]


def _is_whole_tree(text: str) -> bool:
    lines = (line.partition("=") for line in text.split("\n")[1:] if line)
    try:
        parts = {name: [float(v) for v in values.split()] for name, _, values in lines}
        leaves = int(parts["num_leaves"][0])
        forks = [parts[name] for name in _FORKS if leaves > 1]
    except (KeyError, IndexError, ValueError):
        return False
    leaf = parts.get("leaf_value", [])
    children = [child for fork in forks[-2:] for child in fork]
    return (
        len(leaf) == leaves
        and all(len(fork) == leaves - 1 for fork in forks)
        and all(len(parts.get(n, leaf) or [0.0]) == leaves for n in _LEAVES)
        and all(-leaves <= child < leaves - 1 for child in children)
    )


def _read_booster(booster: Any, classes: Array | None, columns: ModelColumns) -> Trees:
    """Return the trees of a LightGBM booster."""
    model = booster.dump_model()
    objective = str(model.get("objective", "custom")).split(" ")[0]
    known = ("binary", "multiclass", "softmax", "regression", "regression_l1", "huber",
             "quantile", "fair", "mape", "lambdarank", "custom")  # fmt: skip
    if objective not in known or "sqrt" in str(model.get("objective", "")):
        raise NotProvable(f"a LightGBM model with the objective {objective}")
    if model.get("average_output"):
        raise NotProvable("a LightGBM model that averages its trees")
    count = int(model["num_tree_per_iteration"])
    splits = CategorySplits(columns.as_numbers(np.float64))
    trees = [
        _read_tree(one["tree_structure"], number % count, count, splits)
        for number, one in enumerate(model["tree_info"])
    ]
    return Trees(
        columns=splits.columns(),
        trees=tuple(trees),
        base=np.zeros(count),
        roundoff=DOUBLE,
        classes=classes,
        link=0.0 if classes is None else 64 * DOUBLE,
        in_order=count == 1,
    )


def _read_tree(root: Any, place: int, count: int, splits: CategorySplits) -> Tree:
    nodes: list[tuple[int, float, int, int, float]] = []
    categories: dict[int, list[int]] = {}

    def add(node: Any) -> int:
        here = len(nodes)
        if "split_feature" not in node:
            if node.get("leaf_coeff"):
                raise NotProvable("a LightGBM model of linear trees")
            nodes.append((-1, 0.0, -1, -1, float(node["leaf_value"])))
            return here
        bound = node["threshold"]
        if node["decision_type"] == "==":
            categories[here] = [int(level) for level in str(bound).split("||")]
            bound = 0.0
        elif node.get("missing_type") == "Zero":
            raise NotProvable("a LightGBM model that takes zero for missing")
        nodes.append((0, 0.0, -1, -1, 0.0))
        left, right = add(node["left_child"]), add(node["right_child"])
        nodes[here] = (int(node["split_feature"]), float(bound), left, right, 0.0)
        return here

    add(root)
    feature, bound, left, right, leaf = (np.array(c) for c in zip(*nodes, strict=True))
    tree = Tree(feature, bound, left, right, place_values(leaf, place, count))
    for here, levels in categories.items():
        splits.split(tree, here, levels, "left")
    return tree


def _to_train(model: Any) -> tuple[Any, Callable[[Any], bytes]]:
    """Return an estimator with a file's parameters, as far as the file says them."""
    import lightgbm

    kind = "Regressor" if model.classes is None else "Classifier"
    # The parameters stand after the trees, where the adapter does not read.
    text = Path(model.name).read_text(encoding="utf-8")
    known = lightgbm.Booster(model_str=text).params
    names = (*_PARAMETERS, "objective")
    estimator = getattr(lightgbm, f"LGBM{kind}")(
        n_estimators=model.booster.current_iteration(),
        n_jobs=1,
        verbose=-1,
        **{name: known[name] for name in names if name in known},
    )
    return estimator, lambda trained: trained.booster_.model_to_string().encode()


def _all_aliases(name: str) -> Collection[str]:
    """Return all names of a parameter: many have several."""
    from lightgbm import basic

    found: set[str] = basic._ConfigAliases.get_by_alias(name)
    return found


PARAMETERS = Parameters(
    "boosting boosting_type categorical_feature early_stopping_round linear_tree "
    "n_estimators num_class num_iterations objective reg_sqrt use_missing "
    "zero_as_missing",
    "alpha auc_mu_weights bagging_by_query bagging_fraction bagging_freq bagging_seed "
    "bin_construct_sample_cnt boost_from_average cat_l2 cat_smooth "
    "cegb_penalty_feature_coupled cegb_penalty_feature_lazy cegb_penalty_split "
    "cegb_tradeoff class_weight colsample_bytree data_random_seed "
    "data_sample_strategy deterministic drop_rate drop_seed "
    "early_stopping_min_delta enable_bundle eval_at extra_seed extra_trees fair_c "
    "feature_contri feature_fraction feature_fraction_bynode feature_fraction_seed "
    "feature_pre_filter first_metric_only forcedbins_filename "
    "forcedsplits_filename interaction_constraints is_unbalance label_gain "
    "lambda_l1 lambda_l2 lambdarank_norm "
    "lambdarank_position_bias_regularization lambdarank_truncation_level "
    "learning_rate linear_lambda max_bin max_bin_by_feature max_cat_threshold "
    "max_cat_to_onehot max_delta_step max_depth max_drop metric "
    "min_child_samples min_child_weight min_data_in_bin min_data_in_leaf "
    "min_data_per_group min_gain_to_split min_split_gain min_sum_hessian_in_leaf "
    "monotone_constraints monotone_constraints_method monotone_penalty "
    "multi_error_top_k neg_bagging_fraction num_grad_quant_bins num_leaves "
    "objective_seed other_rate path_smooth poisson_max_delta_step "
    "pos_bagging_fraction quant_train_renew_leaf random_state refit_decay_rate "
    "reg_alpha reg_lambda scale_pos_weight seed sigmoid skip_drop "
    "stochastic_rounding subsample subsample_for_bin subsample_freq top_k top_rate "
    "tweedie_variance_power uniform_drop use_quantized_grad xgboost_dart_mode",
    "config convert_model convert_model_language data device_type force_col_wise "
    "force_row_wise gpu_device_id gpu_device_id_list gpu_platform_id gpu_use_dp "
    "group_column header "
    "histogram_pool_size ignore_column importance_type input_model "
    "is_enable_sparse is_provide_training_metric label_column local_listen_port "
    "machine_list_filename machines metric_freq n_jobs num_gpu num_machines "
    "num_threads output_model output_result parser_config_file "
    "precise_float_parser pre_partition predict_disable_shape_check "
    "saved_feature_importance_type save_binary snapshot_freq task time_out "
    "tree_learner two_round valid verbosity weight_column",
    {
        "num_iteration_predict": (-1,),
        "pred_early_stop": (False,),
        "pred_early_stop_freq": (),
        "pred_early_stop_margin": (),
        "predict_contrib": (False,),
        "predict_leaf_index": (False,),
        "predict_raw_score": (False,),
        "start_iteration_predict": (0,),
    },
    _all_aliases,
)

_CLASSES = ("lightgbm:LGBMClassifier", "lightgbm:LGBMRegressor")
KIND = ModelKind(
    parameters=PARAMETERS,
    name="LightGBM model",
    shown=("LightGBM", "`model.txt`"),
    extra="lightgbm",
    is_mine=lambda file: file.head.startswith(_MARKS),
    load=load_lightgbm,
    flavour=("lightgbm", "data", "model.lgb"),
    types=_CLASSES,
    read=lambda fitted, columns: _read_booster(
        fitted.booster_, getattr(fitted, "classes_", None), columns
    ),
    constraints=dict.fromkeys(_CLASSES, "monotone_constraints"),
    to_train=_to_train,
)
