"""Voters of the American election of 1996: Clinton or Dole? (statsmodels)."""

from tables import Table

from nomos import Schema
from nomos.domain import Integer


class Votes(Table):
    """944 voters; 1: the vote went to Dole."""

    schema = Schema(
        Integer("TVnews", 0, 7),
        Integer("selfLR", 1, 7),
        Integer("ClinLR", 1, 7),
        Integer("DoleLR", 1, 7),
        Integer("PID", 0, 6),
        Integer("age", 19, 91),
        Integer("educ", 1, 7),
        Integer("income", 1, 24),
    )

    @staticmethod
    def table():
        """Return all records and their labels."""
        from statsmodels.datasets import anes96

        frame = anes96.load_pandas().data
        return frame[list(Votes.schema.columns)], frame["vote"]
