"""Models behind one small interface: `load_model(source)`."""

from nomos.models.adapter import NoScores
from nomos.models.load import Model, load_model, trusting

__all__ = ["Model", "NoScores", "load_model", "trusting"]
