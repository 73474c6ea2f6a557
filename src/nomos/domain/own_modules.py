"""Import a project's own Python files: anew when one changed, never another project's.

Python keeps one module for each name, finds it by the order of its path, and trusts
compiled files by time and size. So while a project is current, imports in its files look
in its folders before other folders (installed packages still come first), its files are
always compiled from their text, and modules of its names that came from elsewhere are set
aside. They come back when their own project is current again.
"""

import importlib
import os
import sys
import sysconfig
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import TypeGuard, cast
from weakref import WeakValueDictionary

_INSTALLED = tuple(
    os.path.realpath(sysconfig.get_path(kind)) + os.sep
    for kind in ("stdlib", "platstdlib", "purelib", "platlib")
)
_MACHINERY = ("<frozen importlib", importlib.__file__)
_PACKAGE_FOLDERS = {"site-packages", "dist-packages"}


class _TextLoader(SourceFileLoader):
    """Compiles a file from its text, and remembers which text that was."""

    digest = ""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of what the file holds now, whatever was compiled before."""
        data = self.get_data(self.path)
        self.digest = sha256(data).hexdigest()
        code: CodeType = self.source_to_code(data, self.path)
        return code


class _DomainLoader(_TextLoader):
    """Loads a domain file, under a name that no other file has."""


class _Finder:
    """Finds modules in the folders of the current project."""

    def __init__(self) -> None:
        self.current: Project | None = None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """Return where a module is, None where it is none of the project's own."""
        project = self.current
        if project is None or (path is not None and not any(map(project.has, path))):
            return None
        own = PathFinder.find_spec(name, project.folders if path is None else path)
        if own is None:
            return None
        other = PathFinder.find_spec(name) if path is None else None
        # A folder without `__init__.py` gives way to any package, as in Python.
        instead = None if other is None else other.origin
        if instead is not None and (own.origin is None or is_installed(instead)):
            return None
        if other is not None and not project.has(_importer()):
            return None  # an import that others make goes by Python's order
        if type(own.loader) is SourceFileLoader and project.has(own.origin):
            own.loader = _TextLoader(name, str(own.origin))
        return own


class Project:
    """The folders that a domain imports from, and the modules that came from there."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = [str(folder) for folder in folders]
        self._starts = tuple(folder.rstrip(os.sep) + os.sep for folder in self.folders)
        self._loaded: dict[str, tuple[ModuleType, str]] = {}
        self._seen: WeakValueDictionary[str, ModuleType] = WeakValueDictionary()

    def enter(self) -> None:
        """Become the project that imports are made for; begin anew if a file changed."""
        if _finder not in sys.meta_path:
            sys.meta_path.insert(sys.meta_path.index(PathFinder), _finder)
        importlib.invalidate_caches()
        before, _finder.current = _finder.current, self
        if before is not None:
            before.remember()
        loaded = self._loaded.values()
        if any(_hash_module(module) != digest for module, digest in loaded):
            for name, (module, _) in self._loaded.items():
                if sys.modules.get(name) is module:
                    del sys.modules[name]
            self._loaded.clear()
            self._seen.clear()
        if before is not self:
            self._set_others_aside()
            sys.modules |= {name: module for name, (module, _) in self._loaded.items()}
        self.remember()

    def load(self, name: str, path: Path) -> ModuleType:
        """Run a file as the module of a name."""
        loader = _DomainLoader(name, str(path))
        spec = spec_from_file_location(name, path, loader=loader)
        assert spec is not None
        module = module_from_spec(spec)
        sys.modules[name] = module
        try:
            loader.exec_module(module)
            self._loaded[name] = module, loader.digest
        except BaseException:
            sys.modules.pop(name, None)
            raise
        finally:
            self.remember()
        return module

    def remember(self) -> None:
        """Note which modules are this project's, and the texts that they came from."""
        for name, module in list(sys.modules.items()):
            if not isinstance(cast(object, module), ModuleType):  # anything is allowed
                continue
            if self._seen.get(name) is module:
                continue
            self._seen[name] = module
            known = self._loaded.get(name)
            if (known is None or known[0] is not module) and self._is_own(name, module):
                loader = _loader(module)
                digest = loader.digest if isinstance(loader, _TextLoader) else ""
                self._loaded[name] = module, digest or _hash_module(module)

    def has(self, file: str | None) -> bool:
        """Tell whether a file or folder is one of the project's own."""
        if file is None or is_installed(file):
            return False
        return f"{_real(file)}{os.sep}".startswith(self._starts)

    def _is_own(self, name: str, module: ModuleType) -> bool:
        file = _file(module)
        if name == "__main__" or name.partition(".")[0] == "nomos":
            return False
        if file is None:  # a folder without `__init__.py`
            folders = list(vars(module).get("__path__") or ())
            return bool(folders) and all(map(self.has, folders))
        return _is_text(file) and self.has(file)

    def _set_others_aside(self) -> None:
        """Drop modules of names that mean other files in this project."""
        names = list(sys.modules)
        others = {name.partition(".")[0] for name in names if self._is_others(name)}
        for name in names:
            if name.partition(".")[0] in others - {"__main__", "nomos"}:
                del sys.modules[name]

    def _is_others(self, name: str) -> bool:
        """Tell whether a module is not what its name means in this project."""
        module = sys.modules[name]
        file = _file(module)
        if not _is_text(file) or is_installed(file):
            return False
        for folder in self.folders:
            own = Path(folder, *name.split("."))
            for candidate in (own / "__init__.py", own.with_name(f"{own.name}.py")):
                if candidate.is_file():
                    return str(candidate) != _real(file)
        return type(_loader(module)) is _TextLoader and not self.has(file)


def _importer() -> str:
    """Return the file whose import is under way."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_MACHINERY):
        frame = frame.f_back
    return "" if frame is None else frame.f_code.co_filename


@cache
def is_installed(file: str) -> bool:
    """Tell whether a file belongs to Python or to an installed package."""
    real = _real(file)
    is_package = not _PACKAGE_FOLDERS.isdisjoint(Path(real).parts)
    return is_package or real.startswith(_INSTALLED) or file in ("built-in", "frozen")


@cache
def _real(file: str) -> str:
    return os.path.realpath(file)


def _file(module: object) -> str | None:
    """Return a module's file; modules that load when they are touched stay untouched."""
    file = getattr(module, "__dict__", {}).get("__file__")
    return file if isinstance(file, str) else None


def _loader(module: ModuleType) -> object:
    return getattr(vars(module).get("__spec__"), "loader", None)


def _is_text(file: str | None) -> TypeGuard[str]:
    return file is not None and file.endswith(".py")


def _hash_module(module: ModuleType) -> str:
    try:
        return sha256(Path(_file(module) or "").read_bytes()).hexdigest()
    except OSError:  # it is a folder, or it is gone, and so is what it said
        return ""


_finder = _Finder()
