"""The command `explore`, which writes a page on which a sweep's dataset can be looked at."""

import dataclasses
import importlib
import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

import jaxtheory
from jaxtheory.cli.export import print_aside
from jaxtheory.cli.terminal import put
from jaxtheory.cli.words.arguments import Flag, takes
from jaxtheory.system import disk


@dataclasses.dataclass(frozen=True)
class Explore:
    """Write one HTML page that shows the dataset of a sweep: curves, heat maps and images.

    It needs no network. An unfinished store shows the runs that are there.

    For a directory with several stores, each has a page, and one page lists them.

    It needs jaxtheory[explore].
    """

    store: Positional[Annotated[Path, arg(metavar="STORE|DIR")]]
    """Directory of the results of a sweep, or one with several of them, as `run` writes it."""
    open: Flag = False
    """Open the page in the web browser."""
    watch: Flag = False
    """Write the page again as runs are finished, until the sweep is; of a DIR, until Ctrl-C."""
    every: Annotated[float, arg(metavar="SECONDS")] = 2.0
    """With --watch, the seconds between two looks at the store."""
    to: Annotated[Path | None, takes("FILE.html")] = None
    """File to write; by default explore.html in the store or the directory."""

    def __call__(self) -> int:
        _import_jax_for_the_cpu()
        from jaxtheory.reports.explorer.explore import html_file
        from jaxtheory.reports.explorer.live_pages import Pages, watch
        from jaxtheory.reports.report_page import REPORT, report

        if not 0.1 <= self.every <= 3600:
            raise jaxtheory.InputError(f"--every {self.every:g}: must be in [0.1, 3600] seconds")
        pages = Pages(disk.located(self.store), self.to and html_file(disk.located(self.to)))
        if self.watch:
            watch(pages, self.every, print_aside, lambda: self._show(pages.file))
            put("finished")
            return 0
        pages.update(tell=print_aside)
        self._show(pages.file)
        if not pages.single and self.to is None and (pages.file.parent / REPORT).is_file():
            put(f"page      {report(pages.file.parent, print_aside)}")  # which links to them
        return 0

    def _show(self, file: Path) -> None:
        """Print the page and open it."""
        put(f"page      {file}")
        sys.stdout.flush()
        if self.open and not webbrowser.open(file.resolve().as_uri()):
            print_aside(f"no web browser was found; open {file} yourself")


def _import_jax_for_the_cpu() -> None:
    """Import JAX so that this process takes no accelerator from a sweep that it follows."""
    if "JAX_PLATFORMS" not in os.environ and "jax" not in sys.modules:
        os.environ["JAX_PLATFORMS"] = "cpu"
        importlib.import_module("jax")
        del os.environ["JAX_PLATFORMS"]
