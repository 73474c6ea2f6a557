"""Models behind one small interface: `load_model(path)`."""

from nomos.models.load import Model, load_model

__all__ = ["Model", "load_model"]
