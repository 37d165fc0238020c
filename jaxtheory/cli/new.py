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
from jaxtheory.core import plugins
from jaxtheory.core.errors import suggest


@dataclasses.dataclass(frozen=True)
class New:
    """Write NAME.py, a complete example theory in one file, as a template for your own.

    The file runs, verifies and draws. Replace it part by part, as docs/add-your-theory.md explains.

    With --from, it is a copy of a figure, in one file, as docs/change-a-figure.md explains.
    """

    name: Positional[Annotated[str, arg(metavar="NAME")]]
    """A Python name. The file is written into the current directory and must not exist."""
    flax: bool = False
    """Write a Flax network that is trained on a task, as docs/networks.md explains."""
    from_: Annotated[str | None, arg(name="from", metavar="FIGURE")] = None
    """Copy this figure, with what it takes from the files beside it."""

    def __call__(self) -> int:
        from jaxtheory.system.whole import write

        file = Path(f"{self.name}.py")
        self._require_free(file)
        if self.from_ is not None:
            if self.flax:
                raise jaxtheory.InputError("--flax and --from exclude each other")
            write(file, one_file(_figure_file(self.from_), Path(self.from_).stem, self.name))
            put(f"{file}: try jaxtheory run {file} --quick")
            return 0
        template = "template_flax.py" if self.flax else "template.py"
        text = Path(__file__).with_name(template).read_text(encoding="utf-8")
        write(file, text.replace('name="template"', f'name="{self.name}"'))
        put(f"{file}: try jaxtheory verify {file}, then jaxtheory run {file}")
        return 0

    def _require_free(self, file: Path) -> None:
        """Raise InputError unless the name can be that of a new file."""
        if not self.name.isidentifier() or keyword.iskeyword(self.name):
            raise jaxtheory.InputError(
                f"NAME = {self.name!r}: must be a Python name, like my_theory"
            )
        taken = {*jaxtheory.theories.names(), *plugins.offered(plugins.THEORIES)}
        taken |= {*jaxtheory.figures.files(), *plugins.offered(plugins.FIGURES)}
        if self.name in taken or file.exists():
            raise jaxtheory.InputError(
                f"{self.name}: a theory, a figure or a file of this name exists; choose another "
                "name"
            )
        if importlib.util.find_spec(self.name):
            raise jaxtheory.InputError(
                f"{self.name}: a Python module of this name exists, which {file} would hide; "
                "choose another name"
            )


def _figure_file(name: str) -> Path:
    """Return the file of a figure that ships, or that another package offers; or a FILE.py."""
    shipped, others = jaxtheory.figures.files(), plugins.offered(plugins.FIGURES)
    if name.endswith(".py") and Path(name).is_file():
        return Path(name)
    if name in shipped:
        return shipped[name]
    if name in others and (file := plugins.file_of_entry(others[name])) is not None:
        return file
    if of_theory := [figure for figure, file in shipped.items() if file.parent.name == name]:
        raise jaxtheory.InputError(f"--from {name}: choose a figure of it: {', '.join(of_theory)}")
    hint = plugins.file_here(name) or suggest(name, [*shipped, *others])
    raise jaxtheory.InputError(f"--from {name}: unknown figure; {hint}")
