"""The command `new`, which writes a file to start from: an example theory or a copied figure."""

import dataclasses
import importlib.util
import keyword
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

import jaxtheory
from jaxtheory.cli.copied import one_file
from jaxtheory.cli.terminal import put
from jaxtheory.cli.words.arguments import Flag, takes
from jaxtheory.core import plugins
from jaxtheory.texts.errors import suggest

_PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["jaxtheory"]

[project.optional-dependencies]
test = ["pytest"]

[project.entry-points."jaxtheory.theories"]
{name} = "{name}:THEORY"

[project.entry-points."jaxtheory.figures"]
{name} = "{name}:FIGURE"
"""


@dataclasses.dataclass(frozen=True)
class New:
    """Write NAME.py, a complete example theory in one file, as a template for your own.

    The file runs, verifies and draws. Replace it part by part, as docs/add-your-theory.md explains.

    With --package it is a folder with tests that offers its theory and figure to every command.

    With --from it is a copy of a figure, in one file, as docs/change-a-figure.md explains.
    """

    name: Positional[Annotated[str, arg(metavar="NAME")]]
    """A Python name. The file is written into the current directory and must not exist."""
    flax: Flag = False
    """Write a Flax network that is trained on a task, as docs/networks.md explains."""
    package: Flag = False
    """Write a package with tests, as docs/contribute.md explains."""
    from_: Annotated[str | None, takes("FIGURE", name="from")] = None
    """Copy this figure, with what it takes from the files beside it."""

    def __call__(self) -> int:
        from jaxtheory.system.atomic import write

        file = Path(self.name if self.package else f"{self.name}.py")
        self._require_free(file)
        if self.package and (self.flax or self.from_ is not None):
            raise jaxtheory.InputError("--package excludes --flax and --from")
        if self.from_ is not None:
            if self.flax:
                raise jaxtheory.InputError("--flax and --from exclude each other")
            write(file, one_file(_figure_file(self.from_), Path(self.from_).stem, self.name))
            put(f"{file}: try jaxtheory run {file} --quick")
            return 0
        if self.package:
            for place, text in _package(self.name).items():
                (file / place).parent.mkdir(parents=True, exist_ok=True)
                write(file / place, text)
            put(f"{file}: try cd {file}, pip install --editable '.[test]', pytest")
            return 0
        write(file, _template("template_flax.py" if self.flax else "template.py", self.name))
        put(f"{file}: try jaxtheory verify {file}, then jaxtheory run {file}")
        return 0

    def _require_free(self, file: Path) -> None:
        """Raise InputError unless the name can be that of a new file."""
        if not self.name.isidentifier() or keyword.iskeyword(self.name):
            raise jaxtheory.InputError(
                f"NAME = {self.name!r}: must be a Python name, like my_theory"
            )
        names = {*jaxtheory.theories.names(), *plugins.offered(plugins.THEORIES)}
        names |= {*jaxtheory.figures.files(), *plugins.offered(plugins.FIGURES)}
        if self.name in names or file.exists():
            raise jaxtheory.InputError(
                f"{self.name}: a theory, a figure or a file of this name exists; choose another "
                "name"
            )
        if importlib.util.find_spec(self.name):
            raise jaxtheory.InputError(
                f"{self.name}: a Python module of this name exists, which {file} would hide; "
                "choose another name"
            )


def _template(file: str, name: str) -> str:
    """Return the text of a template under another name."""
    text = (Path(__file__).with_name("templates") / file).read_text(encoding="utf-8")
    text = text.replace("from template import", f"from {name} import")
    return text.replace('name="template"', f'name="{name}"')


def _package(name: str) -> dict[str, str]:
    """Return the files of a package: its theory and figure, tests, and what installs it."""
    return {
        ".gitignore": "results/\n__pycache__/\n",
        "pyproject.toml": _PROJECT.format(name=name),
        f"{name}/__init__.py": _template("template.py", name),
        f"tests/test_{name}.py": _template("template_test.txt", name),
    }


def _figure_file(name: str) -> Path:
    """Return the file of a figure that ships, or that another package offers; or a FILE.py."""
    shipped, entry_points = jaxtheory.figures.files(), plugins.offered(plugins.FIGURES)
    if name.endswith(".py") and Path(name).is_file():
        return Path(name)
    if name in shipped:
        return shipped[name]
    if name in entry_points and (file := plugins.file_of_entry(entry_points[name])) is not None:
        return file
    if of_theory := [figure for figure, file in shipped.items() if file.parent.name == name]:
        raise jaxtheory.InputError(f"--from {name}: choose a figure of it: {', '.join(of_theory)}")
    hint = plugins.file_here(name) or suggest(name, [*shipped, *entry_points])
    raise jaxtheory.InputError(f"--from {name}: unknown figure; {hint}")
