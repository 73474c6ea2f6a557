"""Classifiers that Hugging Face's transformers saved into a folder: text, images, sound.

Nothing is fetched from anywhere, code beside the model is not run, and weights are read
from safetensors files.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array, placement
from nomos.errors import ModelError
from nomos.models.adapter import Adapter
from nomos.models.extras import as_model_error, distrust, need
from nomos.models.kinds import ModelKind

# Pipelines: how the names of their architectures end, and the part that prepares inputs.
_TASKS = {
    "text-classification": ("ForSequenceClassification", "tokenizer"),
    "image-classification": ("ForImageClassification", "image_processor"),
    "audio-classification": ("ForAudioClassification", "feature_extractor"),
}
# These hear: their sequences are sounds.
_SOUNDS = (
    "Wav2Vec2", "Hubert", "WavLM", "UniSpeech", "Whisper", "SEW", "Data2VecAudio",
)  # fmt: skip


class PipelineModel(Adapter):
    """A classification pipeline; labels are the names that the model gives its classes.

    A text is a string. An image is an array (height, width) or (height, width, 3) of
    0 to 255, or of 0 to 1 where it is of reals. A sound is an array of samples at the
    rate that the model was trained with.
    """

    def __init__(self, pipeline: Any, name: str) -> None:
        super().__init__(name)
        self.pipeline = pipeline
        names = pipeline.model.config.id2label
        self.classes = np.array([names[place] for place in sorted(names)])
        self._places = {str(label): place for place, label in enumerate(self.classes)}

    def convert_rows(self, rows: Any) -> list[Any]:
        """Return rows as the library takes them."""
        items = list(rows)
        if self.pipeline.task == "image-classification":
            return [_to_picture(item) for item in items]
        if self.pipeline.task == "audio-classification":
            return [np.asarray(item, dtype=np.float32) for item in items]
        if any(not isinstance(item, str) for item in items):
            raise ModelError(f"{self.name} takes texts")
        return [str(item) for item in items]

    def score_rows(self, rows: Any) -> Array:
        """Return the scores of rows, one for each class."""
        scores = np.zeros((len(rows), len(self._places)))
        options: dict[str, Any] = {"top_k": len(self._places)}
        if self.pipeline.task == "text-classification":
            options = {"top_k": None, "truncation": True}
        for place, found in enumerate(self.pipeline(rows, batch_size=32, **options)):
            for entry in found:
                scores[place, self._places[entry["label"]]] = entry["score"]
        return scores


def load_pipeline(path: Path, *, trust: bool) -> PipelineModel:
    """Load a folder that transformers saved; with trust, its own code and pickles too."""
    task = _find_task(path)
    if not trust:
        _check_folder(path)
    transformers = need("transformers", extra="huggingface", what="Hugging Face models")
    need("torch", extra="huggingface", what="Hugging Face models")
    bars = transformers.logging.is_progress_bar_enabled()
    transformers.logging.disable_progress_bar()
    try:
        parts = _load_parts(transformers, task, path, trust=trust)
        pipeline = transformers.pipeline(task, device=placement().device, **parts)
    finally:
        if bars:
            transformers.logging.enable_progress_bar()
    return PipelineModel(pipeline, str(path))


def _load_parts(
    transformers: Any, task: str, path: Path, *, trust: bool
) -> dict[str, Any]:
    """Load the model and what prepares its inputs, from the folder alone."""
    options = {"local_files_only": True, "trust_remote_code": trust}
    ending, role = _TASKS[task]
    prepare = f"Auto{role.title().replace('_', '')}"  # AutoTokenizer and the like
    folder = str(path.resolve())
    return {
        "model": getattr(transformers, f"AutoModel{ending}").from_pretrained(
            folder, **options, **({} if trust else {"use_safetensors": True})
        ),
        role: getattr(transformers, prepare).from_pretrained(folder, **options),
    }


def _find_task(path: Path) -> str:
    """Return the pipeline that runs the architecture that config.json names."""
    with as_model_error(f"{path} has no readable config.json"):
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
        architecture = str((config.get("architectures") or ["none"])[0])
    for task, (ending, _) in _TASKS.items():
        if architecture.endswith(ending):
            sound = task == "text-classification" and architecture.startswith(_SOUNDS)
            return "audio-classification" if sound else task
    raise ModelError(
        f"{path} holds the architecture {architecture}, which is no classifier "
        "of text, images or sound"
    )


def _check_folder(path: Path) -> None:
    """Refuse code beside the model, weights in pickles, and bases that are elsewhere."""
    for config in path.glob("*.json"):
        with as_model_error(f"{config} is damaged"):
            if "auto_map" in json.loads(config.read_text(encoding="utf-8")):
                raise distrust(path, f"runs code of its own ({config.name}: auto_map)")
    if (path / "adapter_config.json").exists():
        raise ModelError(f"{path} is an adapter to a model that is elsewhere")
    if not any(path.glob("*.safetensors")):
        if any(path.glob("*.bin")):
            raise distrust(path, "has its weights in pickles, not in safetensors")
        raise ModelError(f"{path} has no weights: no file *.safetensors")


def _to_picture(item: Any) -> Any:
    """Return an array as the picture that pipelines take."""
    if not isinstance(item, np.ndarray):
        return item
    if item.ndim != 2 and item.shape[2:] not in ((3,), (4,)):
        raise ModelError(f"an array of shape {item.shape} is no picture")
    pillow = need("PIL.Image", extra="huggingface", what="image models")
    if item.dtype.kind == "f":
        item = (item * 255).round()
    return pillow.fromarray(np.clip(item, 0, 255).astype(np.uint8)).convert("RGB")


KIND = ModelKind(
    name="Hugging Face folder",
    shown=("a Hugging Face classifier of text, images or sound", "its folder"),
    extra="huggingface",
    package="transformers",
    endings=("config.json",),
    is_mine=lambda file: file.is_folder and "config.json" in file.members,
    load=load_pipeline,
    flavour=("transformers", "model_binary", "model"),
)
