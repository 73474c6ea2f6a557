"""The models of the benchmark: what people train, with the settings that they start with."""

from __future__ import annotations

import io
import itertools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Training = tuple[Any, Any]


def tree(data: Training, path: Path) -> Path:
    """Train a decision tree."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_depth=8, random_state=0)
    return _pickled(model.fit(*data), path)


def forest(data: Training, path: Path) -> Path:
    """Train a random forest."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(50, min_samples_leaf=5, random_state=0)
    return _pickled(model.fit(*data), path)


def boosting(data: Training, path: Path) -> Path:
    """Train scikit-learn's first kind of boosted trees."""
    from sklearn.ensemble import GradientBoostingClassifier

    return _pickled(GradientBoostingClassifier(random_state=0).fit(*data), path)


def mlp(data: Training, path: Path) -> Path:
    """Train a network of scikit-learn, in a pipeline."""
    return _pickled(_network(data), path)


def exported(data: Training, path: Path) -> Path:
    """Train the same, and export it with skl2onnx."""
    from skl2onnx import to_onnx

    model = to_onnx(_network(data), data[0][:1], options={"zipmap": False})
    return _written(model.SerializeToString(), path.with_suffix(".onnx"))


def xgboost(data: Training, path: Path) -> Path:
    """Train XGBoost, and keep its own file."""
    from xgboost import XGBClassifier

    XGBClassifier(n_estimators=100, n_jobs=1).fit(*data).save_model(f"{path}.json")
    return path.with_suffix(".json")


def lightgbm(data: Training, path: Path) -> Path:
    """Train LightGBM, and keep its own file."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_jobs=1, verbose=-1).fit(*data)
    model.booster_.save_model(f"{path}.txt")
    return path.with_suffix(".txt")


def catboost(data: Training, path: Path) -> Path:
    """Train CatBoost, and keep its own file."""
    from catboost import CatBoostClassifier

    options = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    CatBoostClassifier(200, **options).fit(*data).save_model(f"{path}.cbm")
    return path.with_suffix(".cbm")


def support(data: Training, path: Path) -> Path:
    """Train a support vector machine with an RBF kernel."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return _pickled(make_pipeline(StandardScaler(), SVC(C=10)).fit(*data), path)


def neighbours(data: Training, path: Path) -> Path:
    """Ask the nearest neighbours."""
    from sklearn.neighbors import KNeighborsClassifier

    return _pickled(KNeighborsClassifier(7).fit(*data), path)


def logistic(data: Training, path: Path) -> Path:
    """Train a logistic regression on squares and products, kept by skops."""
    import skops.io
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    model = make_pipeline(
        StandardScaler(), PolynomialFeatures(2), LogisticRegression(max_iter=500)
    )
    return _written(skops.io.dumps(model.fit(*data)), path.with_suffix(".skops"))


def histogram(data: Training, path: Path) -> Path:
    """Train boosted trees on histograms."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return _pickled(HistGradientBoostingClassifier(random_state=0).fit(*data), path)


def regression(data: Training, path: Path) -> Path:
    """Train a forest for numbers."""
    from sklearn.ensemble import RandomForestRegressor

    return _pickled(RandomForestRegressor(50, random_state=0).fit(*data), path)


def perceptron(data: Training, path: Path) -> Path:
    """Train a network for numbers."""
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    network = MLPRegressor(hidden_layer_sizes=(32,), max_iter=500, random_state=0)
    return _pickled(make_pipeline(StandardScaler(), network).fit(*data), path)


def torch(data: Training, path: Path) -> Path:
    """Train a small network of torch, and export it."""
    import torch

    rows = torch.tensor(data[0])
    norm = torch.nn.BatchNorm1d(rows.shape[1], affine=False, momentum=None)
    net = _layers(norm, rows.shape[1], 32, 32, 2)
    module = _trained(net, rows, torch.tensor(data[1]), 200)
    dynamic = ({0: torch.export.Dim("rows")},)
    program = torch.export.export(module, (rows[:2],), dynamic_shapes=dynamic)
    content = io.BytesIO()
    torch.export.save(program, content)
    return _written(content.getvalue(), path.with_suffix(".pt2"))


def convolution(data: Training, path: Path) -> Path:
    """Train a convolutional network of torch, and write it as an ONNX graph."""
    import torch

    torch.manual_seed(0)
    conv = torch.nn.Conv2d(1, 12, 3)
    net = torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 8, 8)),
        conv,
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        dense := torch.nn.Linear(108, 10),
    )
    _trained(net, torch.tensor(data[0]) / 16, torch.tensor(data[1]), 40)
    return _written(_convolution_graph(conv, dense), path.with_suffix(".onnx"))


def _network(data: Training) -> Any:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    network = MLPClassifier((32, 32), max_iter=400, tol=0, random_state=0)
    network.n_iter_no_change = 400
    return make_pipeline(StandardScaler(), network).fit(*data)


def _layers(first: Any, *sizes: int) -> Any:
    import torch

    torch.manual_seed(0)
    layers: list[Any] = [first]
    for size, after in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(size, after), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def _trained(module: Any, rows: Any, labels: Any, passes: int) -> Any:
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    optimiser = torch.optim.Adam(module.parameters(), lr=5e-3)
    for _ in range(passes):
        for places in torch.randperm(len(rows)).split(64):
            optimiser.zero_grad()
            scores = module(rows[places])
            torch.nn.functional.cross_entropy(scores, labels[places]).backward()
            optimiser.step()
    return module.eval()


def _convolution_graph(conv: Any, dense: Any) -> bytes:
    import onnx
    from onnx.helper import make_graph, make_model, make_node, make_opsetid
    from onnx.numpy_helper import from_array

    value = onnx.helper.make_tensor_value_info
    weights = {
        "scale": np.array(16, dtype=np.float32),
        "shape": np.array([-1, 1, 8, 8]),
        "filters": conv.weight.detach().numpy(),
        "offsets": conv.bias.detach().numpy(),
        "matrix": dense.weight.detach().numpy(),
        "bias": dense.bias.detach().numpy(),
    }
    nodes = [
        make_node("Div", ["pixels", "scale"], ["scaled"]),
        make_node("Reshape", ["scaled", "shape"], ["image"]),
        make_node("Conv", ["image", "filters", "offsets"], ["seen"]),
        make_node("Relu", ["seen"], ["bent"]),
        make_node("MaxPool", ["bent"], ["small"], kernel_shape=[2, 2], strides=[2, 2]),
        make_node("Flatten", ["small"], ["flat"]),
        make_node("Gemm", ["flat", "matrix", "bias"], ["scores"], transB=1),
    ]
    graph = make_graph(
        nodes,
        "digits",
        [value("pixels", onnx.TensorProto.FLOAT, ["n", 64])],
        [value("scores", onnx.TensorProto.FLOAT, ["n", 10])],
        [from_array(array, name) for name, array in weights.items()],
    )
    model = make_model(graph, opset_imports=[make_opsetid("", 17)], ir_version=8)
    content: bytes = model.SerializeToString()
    return content


def _pickled(model: Any, path: Path) -> Path:
    return _written(pickle.dumps(model), path.with_suffix(".pkl"))


def _written(content: bytes, path: Path) -> Path:
    path.write_bytes(content)
    return path


# What is repaired: the table, the model, the specs. Fixed before repair was worked on.
LIST: list[tuple[str, Callable[[Training, Path], Path], tuple[str, ...]]] = [
    ("affairs", tree, ("happier",)),
    ("affairs", xgboost, ("happier", "devout")),
    ("affairs", mlp, ("happier", "husband")),
    ("visits", forest, ("illness",)),
    ("visits", lightgbm, ("illness", "plan")),
    ("votes", boosting, ("party",)),
    ("votes", exported, ("party", "news")),
    ("weather", torch, ("wetter",)),
    ("digits", convolution, ("noise",)),
    ("affairs", catboost, ("devout",)),
]

# Six tables by their seeds, two models each; the second half of a name is the seed.
_BOTH = ("rises", "falls", "group")
MADE: list[tuple[int, Callable[[Training, Path], Path], tuple[str, ...]]] = [
    (1, tree, _BOTH),
    (1, support, _BOTH),
    (2, forest, ("rises", "group")),
    (2, neighbours, ("group", "falls")),
    (3, mlp, _BOTH),
    (3, logistic, ("group",)),
    (4, histogram, _BOTH),
    (4, exported, ("rises", "falls")),
    (5, boosting, ("rises", "group")),
    (5, xgboost, _BOTH),
    (6, regression, ("rises", "falls")),
    (6, perceptron, _BOTH),
]
SCORED = {regression, perceptron}
