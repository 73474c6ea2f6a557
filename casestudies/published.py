"""The case studies and the numbers that the paper reports for them, as data.

Source: Christakis, Eniser, Hoffmann, Singla and Wüstholz, 'Specifying and Testing
k-Safety Properties for Machine-Learning Models'. The overview is its table 1, the
means of unique bugs are the three tables of appendix D (5000 tests, 10 seeds), and the
accuracies are in section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Overview:
    """A line of the paper's overview: how many properties failed, and the bugs."""

    violated: int
    unique_bugs: float


@dataclass(frozen=True, slots=True)
class Model:
    """A model of a case study and what the paper found in its own.

    `file` is the committed model, None for the one that the domain takes by itself;
    `settings` are other settings of the domain. `bugs` has the mean number of unique
    bugs for each property, by the spec's name.
    """

    kind: str
    file: str | None
    accuracy: float | None
    overview: Overview
    bugs: Mapping[str, float]
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """How much is tried: cases that get past `requires`, and seeds."""

    budget: int
    seeds: int


PAPER_SETTING = Setting(budget=5000, seeds=10)


@dataclass(frozen=True, slots=True)
class CaseStudy:
    """A case study: its folder's name, its specs by the paper's names, its models.

    `exact` is the most cases that are worth trying one by one; a slow model lowers it.
    `controls` names, for a property over games of chance, the spec that measures chance.
    """

    name: str
    title: str
    properties: Mapping[str, str]
    models: tuple[Model, ...]
    setting: Setting = PAPER_SETTING
    exact: int = 10_000_000
    note: str = ""
    controls: Mapping[str, str] = field(default_factory=dict)


COMPAS_PROPERTIES = {
    "felony_inc": "Felony Inc",
    "felony_dec": "Felony Dec",
    "misdmnr_inc": "Misdmnr Inc",
    "misdmnr_dec": "Misdmnr Dec",
    "priors_inc": "Priors Inc",
    "priors_dec": "Priors Dec",
    "others_inc": "Others Inc",
    "others_dec": "Others Dec",
    "is_recid_set": "IsRecid Set",
    "is_recid_unset": "IsRecid Unset",
    "is_v_recid_set": "IsVRecid Set",
    "is_v_recid_unset": "IsVRecid Unset",
}
COMPAS_NN = (42.9, 0.0, 619.7, 4.0, 0.5, 0.0, 289.0, 3.0, 0.0, 0.0, 0.9, 0.0)
COMPAS_DT = (3.5, 0.0, 0.0, 0.0, 90.0, 97.2, 91.1, 8.0, 0.0, 0.0, 5.0, 0.0)

CREDIT_PROPERTIES = {
    "crdt_amount_inc": "Crdt Amount Inc",
    "crdt_amount_dec": "Crdt Amount Dec",
    "crdt_hist_inc": "Crdt Hist Inc",
    "crdt_hist_dec": "Crdt Hist Dec",
    "empl_since_inc": "Empl Since Inc",
    "empl_since_dec": "Empl Since Dec",
    "install_rate_inc": "Install Rate Inc",
    "install_rate_dec": "Install Rate Dec",
    "job_inc": "Job Inc",
    "job_dec": "Job Dec",
}
CREDIT_NN = (0.0, 0.0, 78.1, 122.8, 13.5, 30.9, 0.0, 0.0, 47.9, 2.0)
CREDIT_DT = (122.3, 75.4, 8.0, 31.2, 9.1, 40.9, 0.0, 0.0, 0.0, 0.0)

HOTEL_PROPERTIES = {
    "pos_1": "Pos-1",
    "pos_2": "Pos-2",
    "neg_1": "Neg-1",
    "neg_2": "Neg-2",
}


def in_order(
    properties: Mapping[str, str], bugs: tuple[float, ...]
) -> dict[str, float]:
    """Give each property the number in the same place of the paper's table."""
    return dict(zip(properties, bugs, strict=True))


COMPAS = CaseStudy(
    name="compas",
    title="COMPAS",
    properties=COMPAS_PROPERTIES,
    models=(
        Model(
            "NN",
            "nn.onnx",
            0.74,
            Overview(7, 960.0),
            in_order(COMPAS_PROPERTIES, COMPAS_NN),
        ),
        Model(
            "DT",
            "dt.onnx",
            0.72,
            Overview(6, 294.8),
            in_order(COMPAS_PROPERTIES, COMPAS_DT),
        ),
    ),
)
GERMAN_CREDIT = CaseStudy(
    name="german_credit",
    title="German Credit",
    properties=CREDIT_PROPERTIES,
    models=(
        Model(
            "NN",
            "nn.onnx",
            0.78,
            Overview(6, 295.2),
            in_order(CREDIT_PROPERTIES, CREDIT_NN),
        ),
        Model(
            "DT",
            "dt.onnx",
            0.70,
            Overview(6, 286.9),
            in_order(CREDIT_PROPERTIES, CREDIT_DT),
        ),
    ),
)
MNIST = CaseStudy(
    name="mnist",
    title="MNIST",
    properties={"blur": "Blur"},
    models=(Model("NN", "nn.onnx", 0.97, Overview(1, 22.4), {"blur": 22.4}),),
)
SPEECH_COMMAND = CaseStudy(
    name="speech_command",
    title="Speech Command",
    properties={"w_noise": "WNoise"},
    models=(Model("NN", None, 0.84, Overview(1, 14.2), {"w_noise": 14.2}),),
)
HOTEL_REVIEW = CaseStudy(
    name="hotel_review",
    title="Hotel Review",
    properties=HOTEL_PROPERTIES,
    models=(
        Model(
            "NN",
            "joined.onnx",
            0.82,
            Overview(4, 3288.0),
            in_order(HOTEL_PROPERTIES, (861.1, 876.1, 756.2, 794.6)),
            # As in the paper: both parts of a review are one text.
            settings={"encoding": "joined"},
        ),
    ),
    exact=10_000,
    note="at most 10,000 cases are tried one by one: each is a text to be encoded",
)
LUNAR = CaseStudy(
    name="lunar",
    title="LunarLander",
    properties={"relax": "Relax", "unrelax": "Unrelax"},
    models=(
        Model(
            "RL",
            "paper.onnx",
            None,
            Overview(2, 3459.0),
            {"relax": 124.5, "unrelax": 3334.5},
        ),
    ),
    setting=Setting(budget=500, seeds=3),
    note="budget 500 and 3 seeds by default: a case plays 20 games; for the paper's "
    "setting give --budget 5000 --seeds 10",
    controls={"relax": "control", "unrelax": "unrelax_control"},
)

CASE_STUDIES = {
    case.name: case
    for case in (COMPAS, GERMAN_CREDIT, MNIST, SPEECH_COMMAND, HOTEL_REVIEW, LUNAR)
}
