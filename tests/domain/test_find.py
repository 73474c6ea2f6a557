"""How `import name;` finds its file, and how a domain is loaded and built."""

import sys
from importlib import metadata
from pathlib import Path
from textwrap import dedent
from typing import Any, Literal

import pytest

from nomos import Domain, DomainError, NomosError
from nomos.domain.find import build, find_file, find_root, load_imports


@pytest.fixture(autouse=True)
def _own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))
    return path


DOMAIN = """
    from nomos import Domain
    class Shop(Domain):
        def inputs(self): return [1, 2]
        def price(self, thing): return thing
"""


def test_a_domain_beside_the_spec_comes_first(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml")
    near = write(tmp_path / "specs" / "shop.py")
    write(tmp_path / "shop.py")
    assert find_file("shop", tmp_path / "specs" / "a.nom") == near.resolve()


def test_then_the_folders_above_up_to_the_project_root(tmp_path: Path) -> None:
    write(tmp_path / "root" / ".git")
    above = write(tmp_path / "root" / "shop.py")
    write(tmp_path / "toys.py")
    spec = tmp_path / "root" / "deep" / "specs" / "a.nom"
    assert find_file("shop", spec) == above.resolve()
    assert find_root(spec.parent) == (tmp_path / "root").resolve()
    with pytest.raises(DomainError, match=r"there is no `toys.py` in"):
        find_file("toys", spec)


def test_then_pythons_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "root" / "pyproject.toml")
    elsewhere = write(tmp_path / "lib" / "shop.py")
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    assert find_file("shop", tmp_path / "root" / "a.nom") == elsewhere.resolve()


def test_without_a_root_all_folders_above_are_looked_in(tmp_path: Path) -> None:
    if find_root(tmp_path) is not None:
        pytest.skip("the folder of temporary files is inside a project")
    above = write(tmp_path / "shop.py")
    assert find_file("shop", tmp_path / "a" / "b" / "c.nom") == above.resolve()


def test_a_missing_file_is_said_with_the_places_looked_in(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml")
    with pytest.raises(DomainError) as caught:
        load_imports(["nowhere"], tmp_path / "specs" / "a.nom")
    assert str(tmp_path / "specs") in str(caught.value)
    assert "nor on Python's path" in str(caught.value)


def test_a_syntax_error_is_said_with_its_place(tmp_path: Path) -> None:
    path = write(tmp_path / "broken_a.py", "x = 1\ndef f(:\n    pass\n")
    with pytest.raises(DomainError, match="cannot be imported") as caught:
        load_imports(["broken_a"], tmp_path / "a.nom")
    assert f"{path}:2: SyntaxError" in str(caught.value)


def test_an_exception_is_said_with_its_place(tmp_path: Path) -> None:
    helper = write(tmp_path / "broken_help.py", "\n\nraise ValueError('no')\n")
    write(tmp_path / "broken_b.py", "import broken_help\n")
    with pytest.raises(DomainError) as caught:
        load_imports(["broken_b"], tmp_path / "a.nom")
    assert f"{helper}:3: ValueError: no" in str(caught.value)


def test_a_file_that_ends_python_does_not_end_nomos(tmp_path: Path) -> None:
    write(tmp_path / "broken_c.py", "raise SystemExit(3)\n")
    with pytest.raises(DomainError, match=r"broken_c.py:1: it called sys.exit\(3\)$"):
        load_imports(["broken_c"], tmp_path / "a.nom")


def test_a_domain_is_imported_once_and_a_failed_one_again(tmp_path: Path) -> None:
    path = write(tmp_path / "shop_once.py", "raise ValueError\n")
    for _ in range(2):
        with pytest.raises(DomainError):
            load_imports(["shop_once"], tmp_path / "a.nom")
    path.write_text(dedent(DOMAIN))
    first = load_imports(["shop_once"], tmp_path / "a.nom")
    second = load_imports(["shop_once"], tmp_path / "b.nom")
    assert first.domain is second.domain


def test_a_domain_imports_its_neighbours_and_from_the_root(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml")
    write(tmp_path / "study" / "neighbour_x.py", "ONE = 1")
    text = "from neighbour_x import ONE\nfrom study.neighbour_x import ONE as again\n"
    write(tmp_path / "study" / "shop_path.py", text + dedent(DOMAIN))
    imported = load_imports(["shop_path"], tmp_path / "study" / "specs" / "a.nom")
    assert imported.domain is not None
    assert set(imported.offer.functions) == {"price"}


def test_a_class_that_another_builds_on_is_not_the_domain(tmp_path: Path) -> None:
    text = dedent(DOMAIN) + "class Large(Shop):\n    pass\n"
    write(tmp_path / "shop_two.py", text)
    imported = load_imports(["shop_two"], tmp_path / "a.nom")
    assert imported.domain is not None
    assert imported.domain.__name__ == "Large"


def test_a_domain_may_come_from_another_file(tmp_path: Path) -> None:
    write(tmp_path / "shop_lib.py", DOMAIN)
    write(tmp_path / "shop_front.py", "from shop_lib import Shop")
    imported = load_imports(["shop_front"], tmp_path / "a.nom")
    assert imported.domain is not None
    assert imported.domain.__name__ == "Shop"


def test_two_domains_are_refused(tmp_path: Path) -> None:
    text = dedent(DOMAIN) + "class Market(Domain):\n    pass\n"
    write(tmp_path / "shop_three.py", text)
    with pytest.raises(DomainError, match=r"one domain, .* several: Shop, Market"):
        load_imports(["shop_three"], tmp_path / "a.nom")


def test_a_file_without_a_domain_gives_its_functions(tmp_path: Path) -> None:
    text = "def half(x) -> float: return x / 2\ndef _hidden(): ...\nLIMIT = 3\n"
    write(tmp_path / "shop_math.py", text)
    write(tmp_path / "shop_four.py", DOMAIN)
    imported = load_imports(["shop_math", "shop_four"], tmp_path / "a.nom")
    assert imported.domain is not None
    assert set(imported.offer.functions) == {"half", "price"}
    alone = load_imports(["shop_math"], tmp_path / "a.nom")
    assert alone.domain is None
    assert alone.offer.functions["half"].most == 1


class Settings(Domain):
    def __init__(
        self,
        model: str = "m",
        people: int = 3,
        share: float = 0.5,
        strict: bool = False,
        folder: Path | None = None,
        limit: int | None = None,
        kind: Literal["small", "large"] = "small",
        size=2,
        names: list[str] | None = None,
    ) -> None:
        self.given = dict(locals())


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("model", "x.onnx", "x.onnx"),
        ("people", "40", 40),
        ("share", "1e-3", 0.001),
        ("strict", "yes", True),
        ("strict", "0", False),
        ("folder", "a/b", Path("a/b")),
        ("limit", "7", 7),
        ("kind", "large", "large"),
        ("size", "5", 5),
    ],
)
def test_settings_have_the_types_that_the_constructor_asks_for(
    name: str, text: str, value: Any
) -> None:
    domain = build(Settings, {name: text})
    assert isinstance(domain, Settings)
    assert domain.given[name] == value
    assert type(domain.given[name]) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("people", "many", "`people` takes int, not 'many'"),
        ("strict", "perhaps", "`strict` takes bool, not 'perhaps'"),
        ("limit", "x", r"`limit` takes int \| None, not 'x'"),
        ("kind", "huge", "`kind` takes .*small.*large.*, not 'huge'"),
        ("names", "a", "`names` takes .*, not 'a'"),
        ("modell", "x", "Settings has no setting `modell`; its settings are: model"),
    ],
)
def test_a_setting_that_does_not_fit_is_an_error(
    name: str, text: str, words: str
) -> None:
    with pytest.raises(NomosError, match=words):
        build(Settings, {name: text})


class Unresolved(Domain):
    def __init__(self, people: int = 1, other: "Missing" = None) -> None:  # noqa: F821
        self.people = people


def test_annotations_for_the_type_checker_alone_do_no_harm() -> None:
    Unresolved.__init__.__annotations__["people"] = "int"
    domain = build(Unresolved, {"people": "4"})
    assert isinstance(domain, Unresolved)
    assert domain.people == 4


class Failing(Domain):
    def __init__(self, why: str = "plain") -> None:
        if why == "own":
            raise DomainError("no data here: fetch it")
        if why == "exit":
            sys.exit(0)
        raise OSError("disk full")


def test_a_domain_that_cannot_be_set_up_says_why() -> None:
    line = Failing.__init__.__code__.co_firstlineno + 5
    place = rf"Failing could not be set up: .*test_find\.py:{line}"
    with pytest.raises(DomainError, match=rf"^{place}: OSError: disk full$"):
        build(Failing, {})
    with pytest.raises(
        DomainError, match=r"test_find.py:\d+: it called sys.exit\(0\)$"
    ):
        build(Failing, {"why": "exit"})
    with pytest.raises(DomainError, match=r"^no data here: fetch it$"):
        build(Failing, {"why": "own"})


class Declaring(Domain):
    def predict(self, record: int) -> int:
        return record


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ((0, 1), r"`classes` says what each function may answer, as in .* is \(0, 1\)"),
        (range(2), r"it is range\(0, 2\)"),
        ({"predcit": (0, 1)}, "names `predcit`, .*; did you mean `predict`"),
    ],
)
def test_classes_that_no_answer_is_compared_with_are_refused(
    classes: Any, said: str
) -> None:
    named = type("Named", (Declaring,), {"classes": {"predict": (0, 1)}})
    assert isinstance(build(named, {}), Declaring)
    with pytest.raises(DomainError, match=said):
        build(type("Wrong", (Declaring,), {"classes": classes}), {})


class Plain(Domain):
    pass


def test_a_domain_without_settings_says_so() -> None:
    assert isinstance(build(Plain, {}), Plain)
    with pytest.raises(NomosError, match=r"has no setting `model`; .* are: none"):
        build(Plain, {"model": "x"})


class Needing(Domain):
    def __init__(
        self, model: str, people: int, share: float = 0.5, **more: str
    ) -> None:
        self.people = people


def test_settings_that_a_domain_needs_are_named() -> None:
    words = "^Needing needs a setting: --model MODEL --set people=…$"
    with pytest.raises(NomosError, match=words):
        build(Needing, {})
    with pytest.raises(NomosError, match=r"^Needing needs a setting: --set people=…$"):
        build(Needing, {"model": "m"})


def missing(tmp_path: Path, line: str) -> str:
    write(tmp_path / "wanting.py", f"\n{line}\n")
    with pytest.raises(DomainError) as caught:
        load_imports(["wanting"], tmp_path / "a.nom")
    return str(caught.value).partition("wanting.py:2: ")[2]


def test_a_package_that_is_missing_is_named_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] == "skops"]:
        monkeypatch.delitem(sys.modules, name)
    requirements = metadata.requires("nomos-ml")
    monkeypatch.setattr(metadata, "requires", lambda _: requirements)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if "site-packages" not in p])
    start = "ModuleNotFoundError: No module named"
    known = missing(tmp_path, "import skops.io")
    assert known == f"{start} 'skops'; pip install 'nomos-ml[sklearn]'"
    other = missing(tmp_path, "import nomos_wants_this")
    assert other == (
        f"{start} 'nomos_wants_this'; if it is a package: pip install nomos_wants_this; "
        "if it is a file of yours, put it beside the domain"
    )
    inside = missing(tmp_path, "import json.nothing")
    assert inside.startswith(f"{start} 'json.nothing'")
    assert "pip" not in inside


def test_functions_written_in_c_are_functions_too(tmp_path: Path) -> None:
    write(tmp_path / "shop.py", DOMAIN)
    write(tmp_path / "helper.py", "import os\nfrom math import hypot, pi\n")
    spec = write(tmp_path / "spec.nom")
    imported = load_imports(["shop", "helper"], spec)
    assert set(imported.offer.functions) == {"hypot", "price"}
    assert imported.functions["hypot"](3, 4) == 5
