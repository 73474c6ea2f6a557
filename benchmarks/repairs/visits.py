"""People in the RAND health insurance experiment: do they see a doctor? (statsmodels)."""

from tables import Table

from nomos import Schema
from nomos.domain import Flag, Real


class Visits(Table):
    """The years of 20,190 people; 1: there was a visit."""

    schema = Schema(
        Real("lncoins", 0, 4.7),
        Flag("idp"),
        Real("lpi", 0, 7.2),
        Real("fmde", 0, 8.3),
        Real("physlm", 0, 1),
        Real("disea", 0, 58.6),
        Flag("hlthg"),
        Flag("hlthf"),
        Flag("hlthp"),
    )

    @staticmethod
    def table():
        """Return all records and their labels."""
        from statsmodels.datasets import randhie

        frame = randhie.load_pandas().data
        return frame[list(Visits.schema.columns)], frame["mdvis"] > 0
