"""Modules of torch as layers: a Sequential of linear layers with ReLU between them."""

import re
from collections.abc import Iterator
from typing import Any

from nomos.errors import NotProvable
from nomos.structures.inherited import find_class, is_instance
from nomos.structures.model import Layers
from nomos.structures.stacked import Step, stack_layers

_LAYERS = [
    "Sequential", "Linear", "ReLU", "Softmax", "LogSoftmax", "Dropout", "Identity",
    "Flatten", "Sigmoid",
]  # fmt: skip
_OPERATIONS = {
    "aten.linear.default": "Linear", "aten.relu.default": "ReLU",
    "aten.softmax.int": "Softmax", "aten.log_softmax.int": "LogSoftmax",
    "aten.sigmoid.default": "Sigmoid", "aten.dropout.default": "Dropout",
    "aten.clone.default": "Identity",
}  # fmt: skip
_MANGLED = re.compile(r"\.___torch_mangle_\d+")


def layers_of(module: Any, width: int, classes: Any) -> Layers:
    """Return the layers of a module: linear ones, with ReLU between them."""
    return stack_layers(map(_read_step, _walk_layers(module)), width, classes)


def _read_step(given: tuple[str, Any]) -> Step:
    name, layer = given
    if name != "Linear":
        return Step(name)
    bias = None if layer.bias is None else layer.bias.detach().numpy()
    return Step(name, layer.weight.detach().numpy(), bias)


def layers_of_program(program: Any, width: int, classes: Any) -> Layers:
    """Return the layers of what torch.export wrote."""
    return stack_layers(_walk_program(program), width, classes)


def _walk_program(program: Any) -> Iterator[Step]:
    """Yield the steps of a program, each of which takes what the last one made."""
    signature, state = program.graph_signature, program.state_dict
    held = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    (last,) = signature.user_inputs
    for node in program.graph.nodes:
        if node.op == "placeholder":
            continue
        if node.op == "output":
            if [one.name for one in node.args[0]] != [last]:
                raise NotProvable("the program answers with more than its last step")
            return
        name = _OPERATIONS.get(str(node.target), str(node.target))
        first, *others = node.args
        if getattr(first, "name", "") != last:
            raise NotProvable(
                f"the program's {name} takes more than the last step made"
            )
        last, own = node.name, [held.get(getattr(one, "name", "")) for one in others]
        if name == "Linear" and all(own):
            yield Step(name, *[state[name].detach().numpy() for name in own])
        elif name == "Linear":
            raise NotProvable("the program has a layer without weights of its own")
        else:
            yield Step(name)


def _walk_layers(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the layers of a Sequential one after the other, by their names."""
    name = _layer_class(module)
    hooks = ("_forward_hooks", "_forward_pre_hooks")
    if any(len(getattr(module, hook, ())) for hook in hooks):
        raise NotProvable(
            f"a {name or 'module'} with hooks, which run code of their own"
        )
    if name == "Sequential":
        for child in module.children():
            yield from _walk_layers(child)
    elif name:
        yield name, module
    else:
        raise NotProvable(
            f"a module of the class {getattr(module, 'original_name', type(module).__name__)}"
            " is no Sequential of layers"
        )


def _layer_class(module: Any) -> str:
    """Return which layer of torch a module is; one of TorchScript keeps its class's name.

    That is the whole name with its module: a class of the user's own may be called Linear.
    """
    if not is_instance(module, ("torch.jit:ScriptModule",)):
        found = find_class(module, [f"torch.nn:{name}" for name in _LAYERS])
        return found.partition(":")[2]
    full_name = _MANGLED.sub("", module._c._type().qualified_name())
    path, _, name = full_name.removeprefix("__torch__.").rpartition(".")
    return name if path.startswith("torch.nn.modules.") and name in _LAYERS else ""
