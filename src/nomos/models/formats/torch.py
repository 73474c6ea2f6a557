"""Models of torch: torch.export files, TorchScript files, weights with a factory."""

import copy
import io
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import is_reference_precision, is_tensor, placement, to_host
from nomos.errors import ModelError
from nomos.models.adapter import OutputModel
from nomos.models.extras import as_model_error, distrust, need
from nomos.models.kinds import ModelKind
from nomos.models.recognise import ModelFile, recognise
from nomos.models.screening.torch_files import screen_export, screen_script
from nomos.structures.model import Layers
from nomos.structures.torch import layers_of, layers_of_program

_LARGE_BATCH = 2**15  # rows; a larger batch is asked as it is


class TorchModel(OutputModel):
    """A module of one input.

    Rows of reals get the type of the module's weights; whole numbers stay so. Where the
    module answers with several tensors, the first is taken, or the one named `logits`.
    Tensors are answered with tensors. At a lower precision there is a second module, at
    float32, which answers where bugs are evaluated.
    """

    def __init__(self, module: Any, name: str) -> None:
        super().__init__(name)
        self._torch = torch = need_torch()
        place = placement()
        self._device, self._reference = place.device, None
        if place.is_rounded:
            self._reference = _copy_to_device(module, place.device, torch.float32)
        if place.dtype is not None or place.device != "cpu":
            dtype = None if place.dtype is None else getattr(torch, place.dtype)
            module = _copy_to_device(module, place.device, dtype)
        self.module = module
        weights: Any = getattr(module, "parameters", list)()
        reals = (w.dtype for w in weights if w.dtype.is_floating_point)
        self._real = next(reals, torch.float32)

    def extract_structure(self, width: int) -> Layers:
        """Return the module's layers."""
        return layers_of(self.module, width, self.classes)

    def convert_rows(self, rows: Any) -> Any:
        """Return rows as the library takes them."""
        if not is_tensor(rows):
            return super().convert_rows(rows)
        self._check_width(tuple(rows.shape))
        return rows if self.batch is None else super().convert_rows(to_host(rows))

    def compute_output(self, rows: Any) -> Any:
        """Return what the model gives for rows."""
        torch, module, real = self._torch, self.module, self._real
        if self._reference is not None and is_reference_precision():
            module, real = self._reference, torch.float32
        given = rows if is_tensor(rows) else torch.from_numpy(rows)
        dtype = real if given.is_floating_point() else torch.int64
        is_cuda = self._device.startswith("cuda")
        layout = torch.preserve_format
        if is_cuda:
            layout = torch.channels_last if given.ndim == 4 else layout
            given = _fill_batch(torch, given)
        # Always a copy: a module may work in place.
        tensor = given.to(self._device, dtype, copy=True, memory_format=layout)
        with torch.no_grad(), _keep_precision(torch, tensor):
            answer = _find_tensor(module(tensor), self.name)[: len(rows)]
        if answer.dtype in (torch.bfloat16, torch.float16):
            answer = answer.float()
        return answer if is_tensor(rows) else to_host(answer)


class ExportedModel(TorchModel):
    """A torch.export program, which knows the type and shape of its input."""

    def __init__(self, program: Any, name: str) -> None:
        if (device := placement().device) != "cpu":
            passes = need("torch.export.passes", extra="torch", what="exported models")
            program = passes.move_to_device_pass(program, device)
        super().__init__(program.module(check_guards=False), name)
        self.program = program
        given = set(program.graph_signature.user_inputs)
        inputs = [node for node in program.graph.nodes if node.name in given]
        example = self._take_only(inputs, "inputs").meta["val"]
        self.dtype = np.dtype(str(example.dtype).removeprefix("torch."))
        if placement().dtype is None:
            self._real = example.dtype
        self.shape = self._take_shape(example.shape)

    def extract_structure(self, width: int) -> Layers:
        """Return the program's layers."""
        return layers_of_program(self.program, width, self.classes)


def _copy_to_device(module: Any, device: str, dtype: Any) -> Any:
    """Return a copy of a module on a device, laid out as its convolutions like it."""
    torch = need_torch()
    module = copy.deepcopy(module).to(device)
    if dtype is not None:
        module = module.to(dtype)
    if device.startswith("cuda") and isinstance(module, torch.nn.Module):
        module = module.to(memory_format=torch.channels_last)
    return module


def _fill_batch(torch: Any, rows: Any) -> Any:
    """Fill batches up to 4, 5, 6 or 7 * 2**n rows: a new size costs CUDA a new plan."""
    step = 1 << max(3, (len(rows) - 1).bit_length()) - 3
    missing = -len(rows) % step
    if not missing or len(rows) > _LARGE_BATCH:
        return rows
    return torch.cat([rows, rows[-1:].expand(missing, *rows.shape[1:])])


def _keep_precision(torch: Any, tensor: Any) -> Any:
    """Return where convolutions of float32 are no faster and coarser than that."""
    if not tensor.is_cuda or tensor.dtype != torch.float32:
        return nullcontext()
    return torch.backends.cudnn.flags(enabled=True, allow_tf32=False)


def need_torch() -> Any:
    """Import torch."""
    return need("torch", extra="torch", what="models of torch")


def sequential(layers: Iterable[tuple[Any, Any]], activation: str) -> Any:
    """Return a module of weights and biases of layers, with activations between them."""
    nn, modules = need_torch().nn, []
    for weight, bias in layers:
        linear = nn.Linear(weight.shape[1], weight.shape[0])
        linear.weight.data, linear.bias.data = weight, bias
        modules += [linear, getattr(nn, activation)()]
    return nn.Sequential(*modules[:-1])


def load_exported(path: Path, *, trust: bool) -> ExportedModel:
    """Load what torch.export.save wrote."""
    torch = need_torch()
    with _report_damage(f"{path} is no readable torch.export file"):
        source = io.BytesIO(path.read_bytes()) if trust else screen_export(path)
        return ExportedModel(torch.export.load(source), str(path))


def load_script(path: Path, *, trust: bool) -> TorchModel:
    """Load what torch.jit.save wrote."""
    torch = need_torch()
    with _report_damage(f"{path} is no readable TorchScript file"):
        source = io.BytesIO(path.read_bytes()) if trust else screen_script(path)
        module = torch.jit.load(source, map_location="cpu").eval()
    return TorchModel(module, str(path))


def load_saved(path: Path, *, trust: bool) -> TorchModel:
    """Load a whole module that torch.save pickled; weights alone are no model."""
    torch = need_torch()
    if (weights := _load_tensors(path)) is not None:
        is_plain = isinstance(weights, Mapping)
        kind = "weights" if is_plain else f"a {type(weights).__name__}"
        raise ModelError(
            f"{path} holds {kind} and no model: "
            f"name the function that builds it, as {path.name}@module:factory"
        )
    if not trust:
        raise distrust(path, "holds a pickle, which runs code when it is loaded")
    with _report_damage(f"{path} is no readable file of torch.save"):
        module = torch.load(path, map_location="cpu", weights_only=False)
    if not isinstance(module, torch.nn.Module):
        raise ModelError(f"{path} holds a {type(module).__name__} and no module")
    return TorchModel(module.eval(), str(path))


def load_weights(path: Path, factory: Callable[[], Any], *, trust: bool) -> TorchModel:
    """Build a module and give it the weights of a file."""
    if recognise(path) is not SAVED:
        raise ModelError(f"{path} holds no weights that torch.save wrote")
    torch = need_torch()
    weights = _load_tensors(path)
    if weights is None and not trust:
        raise distrust(path, "holds more than weights: a pickle that may run code")
    with _report_damage(f"{path} is no readable file of weights"):
        if weights is None:
            weights = torch.load(path, map_location="cpu", weights_only=False)
        # What training loops write around the weights.
        for name in ("state_dict", "model_state_dict", "model"):
            if isinstance(weights, Mapping) and isinstance(weights.get(name), Mapping):
                weights = weights[name]
    module = factory()
    if not isinstance(module, torch.nn.Module):
        raise ModelError(f"the factory made a {type(module).__name__} and no module")
    try:
        module.load_state_dict(weights)
    except (RuntimeError, TypeError, AttributeError) as error:
        said = " ".join(str(error).split())[:300]
        raise ModelError(f"{path} does not fit the module: {said}") from error
    return TorchModel(module.eval(), f"{path}")


def _load_tensors(path: Path) -> Any:
    """Return what a file holds if it holds tensors alone, and nothing is run for that."""
    torch = need_torch()
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # it refuses with many types; a whole module among them
        return None


def _find_tensor(answer: Any, name: str) -> Any:
    """Return the one tensor of a module's answer, or that of its logits."""
    torch = need_torch()
    if isinstance(answer, Mapping) and "logits" in answer:
        answer = answer["logits"]
    parts = answer.values() if isinstance(answer, Mapping) else answer
    if isinstance(answer, Mapping | tuple | list):
        found = [part for part in parts if torch.is_tensor(part)]
        if len(found) > 1:
            raise ModelError(
                f"{name} answers with {len(found)} tensors, none called logits: save a "
                "module that returns the one that is meant"
            )
        answer = next(iter(found), None)
    if not torch.is_tensor(answer):
        raise ModelError(f"{name} answers with a {type(answer).__name__}, no tensor")
    return answer


@contextmanager
def _report_damage(what: str) -> Iterator[None]:
    """Turn all that torch says of a bad file into one sentence."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # torch logs tracebacks and reads on
    try:
        with as_model_error(what), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


# What a module that torch.save wrote before it wrote zip archives begins with.
_BEFORE_ZIP = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."


def _is_exported(file: ModelFile) -> bool:
    has_program = "serialized_exported_program.json" in file.members
    return file.is_archive and ("archive_format" in file.inner or has_program)


EXPORTED = ModelKind(
    name="torch.export file",
    shown=("torch, saved by `torch.export.save`", "`model.pt2`"),
    extra="torch",
    endings=(".pt2",),
    is_mine=_is_exported,
    load=load_exported,
    takes_precision=True,
)
SCRIPTED = ModelKind(
    name="TorchScript file",
    shown=("torch, saved by `torch.jit.save`", "`model.pt`"),
    extra="torch",
    is_mine=lambda file: "constants.pkl" in file.inner,
    load=load_script,
    takes_precision=True,
)
SAVED = ModelKind(
    name="file of torch.save",
    shown=(
        "torch, saved by `torch.save`",
        "`weights.pt@module:factory`, or a whole module with trust",
    ),
    extra="torch",
    is_mine=lambda f: f.head.startswith(_BEFORE_ZIP) or "data.pkl" in f.inner,
    load=load_saved,
    takes_precision=True,
    flavour=("pytorch", "model_data", "data"),
    types=("torch.nn:Module",),
    adapt=lambda module, name: TorchModel(module.eval(), name),
)
