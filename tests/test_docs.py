"""The code of the pages runs as it stands, from top to bottom; the reference is complete."""

import importlib.util
import json
import re
import shlex
import sys
import types
import webbrowser
from pathlib import Path
from typing import Any

import pytest

import jaxtheory
from jaxtheory.cli.main import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (
    "boundaries",
    "change-a-figure",
    "concepts",
    "drawing",
    "explore",
    "export",
    "inside",
    "networks",
    "observables",
    "own-gradient",
    "own-loss",
    pytest.param("own-optimizer", marks=pytest.mark.slow),
    pytest.param("pure-functions", marks=pytest.mark.slow),
    "quickstart",
    "verification",
    "watching",
    "weights",
)


def loaded(name: str) -> Any:
    """A module of the folder docs, which is not a package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


public, reference_pages, shown, direction, first_look = map(
    loaded, ("public", "reference_pages", "shown", "direction", "first_look")
)
IN_REFERENCE = sorted(
    name
    for text in (
        *reference_pages.built().values(),
        (DOCS / "reference" / "formulas.md").read_text(),
    )
    for name in public.MARK.findall(text)
)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page, tmp_path):
    assert shown.blocks(page)
    shown.run(page, tmp_path)
    assert [name for name in shown.pictures(page) if not shown.saved(name, tmp_path)] == []


def test_pictures_of_pages_are_there_saved_by_their_code_and_described():
    names = []
    for page in shown.pages():
        code = "\n".join(shown.blocks(page))
        for name, seen in shown.pictures(page).items():
            assert re.search(rf"\(.*\"{name}\.(png|html)\"", code), (page, name)
            assert len(seen) > 40, (page, name)
            names.append(name)
    assert sorted(names) == sorted(file.stem for file in shown.FOLDER.iterdir())


def test_the_notebook_has_the_code_of_the_tutorial_and_its_results():
    cells = json.loads(first_look.FILE.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    source = first_look.SOURCE.read_text(encoding="utf-8")
    assert code == re.findall(r"```\{code-cell\} ipython3\n(.*?)\n```", source, re.DOTALL)
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    assert {output["output_type"] for output in outputs} == {"stream", "execute_result"}
    assert sum("image/png" in output.get("data", ()) for output in outputs) == 1
    assert all(first_look.is_result(output) for output in outputs)
    assert first_look.FILE.stat().st_size < 400_000
    text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if ":" not in link]
    assert links and [link for link in links if not (DOCS / link).is_file()] == []


def test_the_slider_shows_what_was_measured_and_both_laws():
    page = direction.on_site((DOCS / "random_walk.md").read_text(encoding="utf-8"))
    assert direction.MARK not in page
    (html,) = re.findall(r'<div class="direction".*?</div>', page, re.DOTALL)
    assert "\n\n" not in html and "http" not in html
    dots = direction.trained()
    assert [dot.p for dot in dots] == [0.5, 0.7, 0.8, 0.9, 0.95]
    assert f'data-trained="0.5,1.00,{dots[0].runs} 0.7,' in html
    assert all(abs(dot.ratio / (dot.p / (1 - dot.p)) ** 0.5 - 1) < 0.06 for dot in dots)
    own = len(html.encode()) + (DOCS / "_static" / "direction.js").stat().st_size
    assert own < 20_000


def test_the_commands_on_exploring_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    lines = (DOCS / "explore.md").read_text().splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("jaxtheory ")]
    assert [words[0] for words in commands] == ["sweep", *["explore"] * 4]
    assert [main(words) for words in commands] == [0] * 5
    for file in ("walk/explore.html", "walk.html", "explore.html"):
        assert (tmp_path / file).is_file()
    assert "finished" in capsys.readouterr().out


@pytest.mark.slow
def test_the_commands_on_changing_a_figure_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = (DOCS / "change-a-figure.md").read_text().splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("jaxtheory ")]
    assert [words[0] for words in commands] == ["run", "run", "new", "show", "run", "run", "export"]
    for words in commands:
        (store,) = tmp_path.glob("results/mine-*/manifest.json") if words[0] == "export" else [None]
        words = [word if "mine-" not in word else str(store.parent) for word in words]
        assert main(words) == 0, words
    quick = tmp_path / "results" / "mine-quick.csv"
    header = quick.read_text().splitlines()[0].split(",")
    columns = re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in lines if "| `" in line))
    assert {*header} <= {*columns} and (tmp_path / "mine.csv").is_file()
    for name in ("mine-quick-column.pdf", "mine-quick-column.txt"):
        assert (tmp_path / "results" / name).is_file()


def test_the_commands_on_exporting_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = (DOCS / "export.md").read_text().splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("jaxtheory ")]
    assert [words[0] for words in commands] == ["sweep", *["export"] * 3]
    assert [main(words) for words in commands] == [0] * 4
    for file in ("walk/data.csv", "walk.parquet", "walk.nc"):
        assert (tmp_path / file).is_file()


def test_every_public_module_stands_in_the_reference_once():
    named = {
        f"jaxtheory.{name}"
        for name in jaxtheory.__all__
        if isinstance(getattr(jaxtheory, name), types.ModuleType)
    }
    rooms = ROOT / "jaxtheory" / "theories"
    of_rooms = {
        f"jaxtheory.theories.{'.'.join(file.relative_to(rooms).with_suffix('').parts)}"
        for name in jaxtheory.theories.names()
        for file in (rooms / name).rglob("*.py")
        if "checks" not in file.parts and file.stem != "__init__"
    }
    others = {"jaxtheory.testing", "jaxtheory.plot.optimizers"}
    assert sorted(others | named | of_rooms) == IN_REFERENCE


def test_every_public_name_stands_under_one_verb():
    names = [name for group in reference_pages.VERBS.values() for name in group]
    assert sorted(names) == sorted({*jaxtheory.__all__, "testing", "plot.optimizers"})
    pages = reference_pages.built()
    assert len(pages) == len({str(page).lower() for page in pages}) == len(names) + 1
    assert "| `law` | [pruning_theorem](" in pages[reference_pages.place("plot")]
    assert "and " in pages[reference_pages.place("Figure")]
    assert public.undocumented("jaxtheory") == []


@pytest.mark.parametrize("name", IN_REFERENCE)
def test_every_public_name_has_a_docstring(name):
    assert public.names(name) and public.undocumented(name) == []


def test_names_of_modules_are_found():
    assert {"sweep", "Claim", "run_key"} <= set(public.names("jaxtheory"))
    assert {"panels", "series", "heat"} <= set(public.names("jaxtheory.plot"))
    assert {"run_figure", "Judged"} <= set(public.names("jaxtheory.claims"))
    assert "Claim" not in public.names("jaxtheory.claims")  # stands at the top already
    assert "Axes" not in public.names("jaxtheory.plot")
    assert {"local", "slurm", "script"} <= set(public.names("jaxtheory.cluster"))
    assert set(public.names("jaxtheory.llama")) == set(jaxtheory.llama.__all__)


def test_a_name_without_a_docstring_is_seen(monkeypatch):
    def bare():
        pass

    class Row(tuple):
        __doc__ = "Row(a, b)"

    for thing in (bare, Row):
        thing.__module__ = jaxtheory.statistics.__name__
        monkeypatch.setattr(jaxtheory.statistics, thing.__name__, thing, raising=False)
    monkeypatch.setattr(jaxtheory.statistics, "__all__", ["bare", "Row"])
    assert public.undocumented("jaxtheory.statistics") == [
        "jaxtheory.statistics.bare",
        "jaxtheory.statistics.Row",
    ]


def test_docstrings_become_paragraphs_and_tables():
    lines = public.plain(["|f| of `x_1`, a_b.", "Next.", "", "name     what *it* is", "    more"])
    assert lines == [
        r"\|f\| of ``x_1``, a\_b.",
        "Next.",
        "",
        "",
        "::",
        "",
        "    name     what *it* is",
        "        more",
        "",
    ]


def test_sections_of_docstrings_become_lists():
    text = """Do a_b.

    Args:
        x: First
            line.
        y: Second.

    Returns:
        A `z`.

    Example:
        >>> 1

        >>> 2"""
    assert public.plain(text.splitlines()) == [
        r"Do a\_b.",
        "",
        "**Args**",
        "",
        "",
        "- ``x``: First",
        "  line.",
        "",
        "- ``y``: Second.",
        "",
        "**Returns**",
        "",
        "A ``z``.",
        "",
        "**Example**",
        "",
        "::",
        "",
        "    >>> 1",
        "    ",
        "    >>> 2",
        "",
    ]


def test_signs_stay_with_their_formula(monkeypatch):
    nodes = pytest.importorskip("docutils.nodes")
    pytest.importorskip("py_mini_racer")
    monkeypatch.syspath_prepend(DOCS)
    formulas = importlib.import_module("formulas")
    page = nodes.paragraph("", "", nodes.Text("at ("), nodes.math("", "x"), nodes.Text("), then"))
    formulas.join(None, page, "")
    assert [part.astext() for part in page] == ["at ", "x", " then"]
    writer = types.SimpleNamespace(body=[])
    with pytest.raises(nodes.SkipNode):
        formulas.inline(writer, page[1])
    assert re.search(r'base"><span class="sign">\(<.*sign">\),(</span>){4}$', writer.body[0])


MODULE = re.compile(r"`((?:\w+/)*\w+\.py|\w+(?:/\w+)+|\w+(?:\.\w+)+)`")


def exists(name):
    """Whether a path or dotted name is a part of jaxtheory, or begins in none of its folders.

    Names inside a module are not looked up.
    """
    parts = re.split(r"[./]", name.removesuffix(".py"))
    folder = ROOT / "jaxtheory"
    if parts[0] == "jaxtheory":
        parts = parts[1:]
    elif not (folder / parts[0]).is_dir():
        return True
    for part in parts:
        if not (folder / part).is_dir():
            package = ".".join(folder.relative_to(ROOT).parts)
            file = folder / f"{part}.py"
            return file.is_file() or hasattr(importlib.import_module(package), part)
        folder /= part
    return True


def test_parts_of_the_package_are_told_from_other_names():
    for name in (
        "core/theory.py",
        "ops.sizes.sums",
        "jaxtheory.linalg",
        "engine/store",
        "data.zarr",
    ):
        assert exists(name)
    for name in ("core/rarely.py", "core.rarely.unless", "jaxtheory/arguments.py", "engine/keep"):
        assert not exists(name)


@pytest.mark.parametrize(
    "page", sorted((DOCS / "decisions").glob("0*.md")), ids=lambda page: page.stem
)
def test_modules_named_in_decisions_exist_or_are_said_to_be_elsewhere(page):
    """A last line "Now: `old` is `new`; `older` is gone." names what was moved or removed."""
    text = page.read_text().rstrip()
    now = text.rpartition("\n")[2]
    moved = re.findall(r"`([^`]+)` is (?:`([^`]+)`|gone)", now if now.startswith("Now: ") else "")
    missing = {name for name in MODULE.findall(text) if not exists(name)}
    assert missing <= {old for old, _ in moved}, missing
    assert [new for _, new in moved if new and not exists(new)] == []


def test_the_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {jaxtheory.__version__}\n" in text


@pytest.mark.parametrize("name", sorted(set(jaxtheory.__all__)))
def test_completion_shows_the_public_names_of_a_module(name):
    module = getattr(jaxtheory, name)
    if not isinstance(module, types.ModuleType):
        return
    shown = [word for word in dir(module) if not word.startswith("__")]
    assert shown == sorted(shown) and not {"Any", "Callable", "Path", "jax", "np"} & set(shown)
    assert all(hasattr(module, word) for word in shown)
