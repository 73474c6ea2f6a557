"""What a proof takes for granted, in words."""

from nomos.structures.model import Layers, Structure
from nomos.structures.trees import Trees
from nomos.verify.question.symbolic import Question


def name_rounding(rounding: float) -> str:
    """Return what a proof takes for granted of steps as small as rounding, in words."""
    return (
        f"scores that are within {rounding:.1g} of each other count as equal: steps of a "
        "real feature may be so small that rounding alone decides"
    )


def assumptions(model: Structure, asked: Question) -> tuple[str, ...]:
    """Return what a proof takes for granted, in words."""
    outputs = [model.find_output(one.output) for one in asked.answers]
    shared: tuple[str, ...] = (
        *(
            ("the library's logistic and exponential functions keep order",)
            if any(one is not None and one.link for one in outputs)
            else ()
        ),
        "the structure that was read is the model: it was compared with the real "
        "function on the data and on rows drawn from the schema",
        "records have whole numbers, names and real numbers as the schema says, "
        "and no missing values",
        "the same record gets the same answer whenever, and with whatever others, "
        "it is asked",
    )
    if isinstance(model, Layers):
        rounding = "the library's sums are rounded as IEEE arithmetic allows"
        if len(model.weights) == 1:
            return (*shared, f"{rounding}, in one order for all records")
        return (*shared, f"{rounding} for any order")
    if isinstance(model, Trees) and model.in_order and len(model.trees) > 1:
        return (*shared, "the library adds up its trees in one order")
    return shared
