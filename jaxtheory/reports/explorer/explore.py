"""Write the page of a dataset, of a store or of a folder with stores."""

from pathlib import Path

import xarray as xr

from jaxtheory.reports.explorer.content import whole_sweep
from jaxtheory.reports.explorer.library import require_library
from jaxtheory.reports.explorer.live_pages import PAGE, Pages
from jaxtheory.reports.explorer.sweep_page import page
from jaxtheory.system import disk
from jaxtheory.system.atomic import write
from jaxtheory.texts.errors import InputError


def explore(data: xr.Dataset | str | Path, to: str | Path | None = None) -> Path:
    """Write a page on which a dataset can be looked at: curves, heat maps, images of matrices.

    The page is one HTML file that needs no network. A store may be unfinished; then the page shows
    the runs that are there. For a folder with several stores there is a page for each of them, and
    one that lists them.

    Args:
        data: A dataset as `sweep` returns it, the directory of a store, or a directory with stores.
        to: The HTML file to write. By default it is explore.html in the store or the directory, and
            in the current directory for a dataset.

    Returns:
        The path of the page.

    Raises:
        InputError: The package plotly is missing; the store does not exist or is damaged; the
            dataset has no variable of numbers; or the file cannot be written.

    Example:
        >>> import jaxtheory, pathlib, tempfile
        >>> from jaxtheory.theories import random_walk
        >>> data = jaxtheory.sweep(random_walk, random_walk.Config(), seeds=2, steps=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = jaxtheory.explore(data, pathlib.Path(folder) / "walk.html")
        ...     page.read_text().startswith("<!doctype html>")
        True
    """
    require_library()
    file = None if to is None else html_file(disk.located(to))
    if not isinstance(data, xr.Dataset):
        pages = Pages(disk.located(data), file)
        pages.update()
        return pages.file
    target = file or Path(PAGE)
    write(target, page(whole_sweep(target.stem, data)))
    return target


def html_file(file: Path) -> Path:
    """Return a path that ends in .html. Raises InputError for any other."""
    if file.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{file}: the page is an HTML file; choose a name that ends in .html")
    return file
