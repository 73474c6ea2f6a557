"""Molecules and crystals, motions that leave their energy alone, and released potentials.

A configuration is made of a row: a material, and a seed by which its atoms are shaken a
little. ANI-1x (torchani) gives energies of molecules, CHGNet of crystals; the weights of both
are inside their wheels. Energies are in eV, lengths in Angstrom.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nomos import Domain, DomainError, Schema
from nomos.domain.schema import Category, Integer

REQUIRED = (
    "pip install -r casestudies/potentials/requirements.txt"
    " && pip install --no-deps torchani==2.2.4"
)
HARTREE = 27.211386245988
MOLECULES = [
    *("H2O", "CH4", "NH3", "CO2", "HCN", "C2H4", "C2H6", "CH3OH", "H2CO", "C6H6"),
    *("CH3CN", "HCOOH"),
]
CRYSTALS = {
    "NaCl": ("rocksalt", 5.64),
    "MgO": ("rocksalt", 4.21),
    "LiF": ("rocksalt", 4.03),
    "CaO": ("rocksalt", 4.81),
    "GaAs": ("zincblende", 5.65),
    "ZnS": ("zincblende", 5.41),
    "Si": ("diamond", 5.43),
    "C": ("diamond", 3.57),
    "Fe": ("bcc", 2.87),
    "Cu": ("fcc", 3.61),
    "Al": ("fcc", 4.05),
    "W": ("bcc", 3.16),
}
FAR = 50.0  # well beyond the 5.2 that ANI sees


class Atoms(NamedTuple):
    """Atoms of some elements at some places; a cell of zeros is no crystal."""

    numbers: np.ndarray
    places: np.ndarray
    cell: np.ndarray


@cache
def load_ani(precision: str) -> Any:
    """Load the eight networks of ANI-1x from inside the wheel of torchani."""
    try:
        import torch

        warnings.simplefilter("ignore")
        import torchani
        from torchani import neurochem
    except ImportError as missing:
        raise DomainError(f"{missing.name} is not here: {REQUIRED}") from None
    folder = Path(torchani.__file__).parent / "resources" / "ani-1x_8x"
    kind = getattr(torch, precision)
    constants = neurochem.Constants(str(next(folder.glob("*.params"))))
    networks = neurochem.load_model_ensemble(constants.species, f"{folder}/train", 8)
    features = torchani.AEVComputer(**constants)
    model = torch.nn.Sequential(features, networks).to(kind)
    of_elements = torch.tensor([-1, 0, -1, -1, -1, -1, 1, 2, 3])

    def ask(atoms: Atoms) -> tuple[float, np.ndarray]:
        places = torch.tensor(atoms.places[None], dtype=kind, requires_grad=True)
        elements = of_elements[torch.tensor(atoms.numbers)][None]
        energy = model((elements, places)).energies * HARTREE
        (slope,) = torch.autograd.grad(energy.sum(), places)
        return float(energy), -slope[0].double().numpy()

    return ask


@cache
def load_chgnet() -> Any:
    """Load CHGNet 0.3.0 from inside its wheel."""
    try:
        warnings.simplefilter("ignore")
        from chgnet.model import CHGNet
        from pymatgen.core import Lattice, Structure
    except ImportError as missing:
        raise DomainError(f"{missing.name} is not here: {REQUIRED}") from None
    with contextlib.redirect_stdout(io.StringIO()):
        model = CHGNet.load(use_device="cpu", verbose=False)

    def ask(atoms: Atoms) -> tuple[float, np.ndarray]:
        crystal = Structure(
            Lattice(atoms.cell), atoms.numbers, atoms.places, coords_are_cartesian=True
        )
        found = model.predict_structure(crystal, task="ef")
        return float(found["e"]) * len(atoms.numbers), found["f"].astype(float)

    return ask


class Matter(Domain):
    """Materials that a potential knows, `ani-1x` (molecules) or `chgnet` (crystals)."""

    schema = Schema(
        Category("material", [*MOLECULES, *CRYSTALS]),
        Integer("seed", 0, 99999),
        Integer("shake", 0, 10),  # in hundredths of an Angstrom
    )

    def __init__(self, model: str = "ani-1x", precision: str = "float32") -> None:
        if (model, precision) == ("chgnet", "float32"):
            self._ask, self._kinds = load_chgnet(), range(len(MOLECULES), 24)
        elif model == "ani-1x" and precision in ("float32", "float64"):
            self._ask, self._kinds = load_ani(precision), range(len(MOLECULES))
        else:
            raise DomainError(f"no model {model!r} of {precision}")
        self._unit = float(np.finfo(precision).eps) / 2

    def inputs(self) -> np.ndarray:
        """Return rows: each material with many seeds."""
        rng = np.random.default_rng(0)
        drawn = [rng.choice(self._kinds, 2000), rng.integers(0, 99999, 2000)]
        return np.stack([*drawn, rng.integers(0, 11, 2000)], axis=1)

    def build(self, x) -> Atoms:
        """Build the configuration of a row."""
        from ase.build import bulk, molecule

        name = self.schema.features[0].levels[int(x[0])]
        if name in CRYSTALS:
            kind, length = CRYSTALS[name]
            found = bulk(name, kind, a=length, cubic=True)
        else:
            found = molecule(name)
        moved = np.random.default_rng(int(x[1])).normal(size=found.positions.shape)
        places = found.positions + moved * int(x[2]) / 100
        return Atoms(found.numbers, places, np.array(found.cell))

    def rotated(self, a: Atoms, seed: int) -> Atoms:
        """Turn a configuration, in any direction."""
        drawn = np.random.default_rng(seed).normal(size=(3, 3))
        turn, _ = np.linalg.qr(drawn)
        turn[:, 0] *= np.sign(np.linalg.det(turn))
        return Atoms(a.numbers, a.places @ turn, a.cell @ turn)

    def mirrored(self, a: Atoms) -> Atoms:
        """Look at it in a mirror."""
        flip = np.array([-1.0, 1.0, 1.0])
        return Atoms(a.numbers, a.places * flip, a.cell * flip)

    def moved(self, a: Atoms, length: float) -> Atoms:
        """Move all atoms alike."""
        return a._replace(places=a.places + length * np.array([0.6, -0.48, 0.64]))

    def reordered(self, a: Atoms, seed: int) -> Atoms:
        """List the atoms in another order."""
        order = np.random.default_rng(seed).permutation(len(a.numbers))
        return a._replace(numbers=a.numbers[order], places=a.places[order])

    def beside(self, a: Atoms, b: Atoms) -> Atoms:
        """Put another molecule far away."""
        places = np.concatenate([a.places, b.places + np.array([FAR, 0, 0])])
        return Atoms(np.concatenate([a.numbers, b.numbers]), places, a.cell)

    def doubled(self, a: Atoms) -> Atoms:
        """Describe the crystal by a cell of twice the size."""
        places = np.concatenate([a.places, a.places + a.cell[0]])
        cell = a.cell * np.array([[2.0], [1], [1]])
        return Atoms(np.tile(a.numbers, 2), places, cell)

    def scaled(self, a: Atoms, factor: float) -> Atoms:
        """Bring all atoms nearer to each other."""
        return Atoms(a.numbers, a.places * factor, a.cell * factor)

    def pushed(self, a: Atoms, seed: int, step: float) -> Atoms:
        """Move the atoms a step in a direction of all their places."""
        return a._replace(places=a.places + step * self._direction(a, seed))

    def _direction(self, a: Atoms, seed: int) -> np.ndarray:
        drawn = np.random.default_rng(seed).normal(size=a.places.shape)
        return drawn / np.linalg.norm(drawn)

    def energy(self, a: Atoms) -> float:
        """Ask for the energy."""
        return self._ask(a)[0]

    def energy_again(self, a: Atoms) -> float:
        """Ask the same once more: what the control calls, so that nothing is remembered."""
        return self._ask(a)[0]

    def force(self, a: Atoms, seed: int) -> float:
        """Ask for the force in a direction of all places."""
        return float((self._ask(a)[1] * self._direction(a, seed)).sum())

    def total_force(self, a: Atoms) -> float:
        """Ask for the length of the sum of all forces."""
        return float(np.linalg.norm(self._ask(a)[1].sum(axis=0)))

    def exact_energy(self, a: Atoms) -> float:
        """Ask ANI-1x with 53 bits."""
        return load_ani("float64")(a)[0]

    def rounding(self, a: Atoms, energy: float) -> float:
        """Return what a single rounding may come to: a unit of the energies in the sum."""
        return self._unit * (abs(energy) + len(a.numbers))
