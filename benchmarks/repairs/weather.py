"""Four years of days in Seattle: did the sun shine? (vega_datasets)."""

from tables import Table

from nomos import Schema
from nomos.domain import Real


class Weather(Table):
    """1,461 days; 1: the day was called sunny."""

    schema = Schema(
        Real("precipitation", 0, 60),
        Real("temp_max", -5, 40),
        Real("temp_min", -10, 25),
        Real("wind", 0, 12),
    )

    @staticmethod
    def table():
        """Return all records and their labels."""
        from vega_datasets import data

        frame = data.seattle_weather()
        return frame[list(Weather.schema.columns)], frame["weather"] == "sun"
