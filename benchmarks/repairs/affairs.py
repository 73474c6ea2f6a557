"""Women who answered a magazine in 1974: is there an affair? (statsmodels)."""

from tables import Table

from nomos import Schema
from nomos.domain import Integer, Real


class Affairs(Table):
    """Answers of 6,366 women; 1: there was an affair."""

    schema = Schema(
        Integer("rate_marriage", 1, 5),
        Real("age", 17.5, 42),
        Real("yrs_married", 0.5, 23),
        Real("children", 0, 5.5),
        Integer("religious", 1, 4),
        Real("educ", 9, 20),
        Integer("occupation", 1, 6),
        Integer("occupation_husb", 1, 6),
    )

    @staticmethod
    def table():
        """Return all records and their labels."""
        from statsmodels.datasets import fair

        frame = fair.load_pandas().data
        return frame[list(Affairs.schema.columns)], frame["affairs"] > 0
