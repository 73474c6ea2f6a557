"""What a request to a model costs: as the project says, or as genai-prices knows."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens of requests and of answers, and for each request."""

    input: float = 0.0
    output: float = 0.0
    request: float = 0.0

    def cost_of(self, tokens_in: int, tokens_out: int) -> float:
        """Return what one request costs."""
        tokens = self.input * tokens_in + self.output * tokens_out
        return self.request + tokens / _MILLION


def find_price(model: str, prices: Mapping[str, Mapping[str, float]]) -> Price | None:
    """Return the price of a model; None where nobody knows it."""
    if model in prices:
        return Price(**prices[model])
    return _known_price(model)


@cache
def _known_price(model: str) -> Price | None:
    """Ask genai-prices, where it is installed, for the price of a million tokens."""
    try:
        library: Any = importlib.import_module("genai_prices")
    except ImportError:
        return None
    try:
        found = [
            float(library.calc_price(usage, model_ref=model).total_price)
            for usage in (
                library.Usage(input_tokens=10**6),
                library.Usage(output_tokens=10**6),
            )
        ]
    except LookupError:  # a model that it does not know
        return None
    return Price(*found)
