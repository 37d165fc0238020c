"""The pages of one or several stores, written again as their sweeps advance."""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxtheory.reports.explorer.content import Sweep, axes
from jaxtheory.reports.explorer.library import require_library
from jaxtheory.reports.explorer.source import Source, store_at, stores_in
from jaxtheory.reports.explorer.sweep_page import page, policy, render
from jaxtheory.system.atomic import write
from jaxtheory.system.temporary import tidy
from jaxtheory.texts.errors import InputError

PAGE = "explore.html"
_Tell = Callable[[str], None]


def _ignore(sentence: str) -> None:
    """Ignore a message."""


class Pages:
    """The page of a store, or those of a folder with stores and the page that lists them.

    Args:
        path: A store, or a folder with stores.
        file: The page; by default explore.html in `path`. The pages of several stores are
            explore.html in each store, or in a folder beside `file`, if that is given.

    Raises:
        InputError: The folder contains no store.
    """

    def __init__(self, path: Path, file: Path | None = None):
        require_library()
        store = store_at(path)
        self.single = store is not None
        self._folder = store or path
        self.file = file or self._folder / PAGE
        self._beside = file is not None
        self._sources = [Source(store)] if store else [Source(at) for at in stores_in(path)]
        self._rows: dict[Path, dict[str, Any]] = {}

    @property
    def finished(self) -> bool:
        """True once every store is finished."""
        return all(source.finished for source in self._sources)

    def update(self, refresh: float = 0.0, tell: _Tell = _ignore) -> bool:
        """Write the pages whose stores have changed, and return True if there are any.

        Args:
            refresh: Seconds after which an unfinished page loads itself again; 0 for never.
            tell: Called with a sentence for each store of a folder that has no page.

        Raises:
            InputError: The only store, or each store, is damaged or has nothing to show.
        """
        if self.single:
            (source,) = self._sources
            return self._write(source, self.file, refresh) is not None
        known = {source.path for source in self._sources}
        self._sources += [Source(path) for path in stores_in(self._folder) if path not in known]
        changed = False
        for source in self._sources:
            target = self._page_of(source.path)
            try:
                sweep = self._write(source, target, refresh)
            except InputError as error:
                why = str(error)
                if self._rows.get(source.path, {}).get("error") != why:
                    tell(why)
                    self._rows[source.path] = _row(source.path, {"error": why})
                    changed = True
                continue
            if sweep is not None:
                self._rows[source.path] = _row(source.path, _facts(sweep), self._link(target))
                changed = True
        if not refresh and all(row["error"] for row in self._rows.values()):
            raise InputError(f"{self._folder}: none of its stores can be shown")
        if changed:
            self._write_list(refresh)
        return changed

    def _write(self, source: Source, target: Path, refresh: float) -> Sweep | None:
        """Write the page of one store if it has changed."""
        sweep = source.read()
        if sweep is None:
            return None
        if not sweep.finished and not refresh:
            raise InputError(f"{source.path}: no run is finished yet; --watch waits for the first")
        tidy(target.parent)
        write(target, page(sweep._replace(refresh=0.0 if source.finished else refresh)))
        return sweep

    def _page_of(self, store: Path) -> Path:
        if not self._beside:
            return store / PAGE
        folder = self.file.with_suffix("")
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: {error.strerror or error}; choose another --to") from None
        return folder / f"{store.name}.html"

    def _link(self, target: Path) -> str:
        """The address of a page relative to the page that lists it."""
        from urllib.parse import quote

        relative = Path(os.path.relpath(target, self.file.parent)).as_posix()
        return quote(os.fsencode(relative))  # also a name that is not UTF-8

    def _write_list(self, refresh: float) -> None:
        """Write the page that lists the pages."""
        script = "" if not refresh else f"setTimeout(() => location.reload(), {refresh * 2000:.0f})"
        rows = [self._rows[path] for path in sorted(self._rows)]
        name = self._folder.resolve().name
        text = render(
            "list.html.jinja", rows=rows, name=name, script=script, policy=policy(script.encode())
        )
        write(self.file, text)

    def close(self, tell: _Tell = _ignore) -> None:
        """Write the pages of unfinished stores again, without loading themselves."""
        for source in self._sources:
            if not source.finished:
                source.reset()
        with contextlib.suppress(InputError):  # no run is finished yet
            self.update(tell=tell)
        if not self.single and self._rows:
            self._write_list(0.0)


def watch(pages: Pages, every: float, tell: _Tell, announce: Callable[[], None]) -> None:
    """Write pages again as parts arrive, until the only store is finished.

    The pages of a folder are followed until the process is interrupted. In either case the last
    pages do not reload themselves.

    Args:
        pages: The pages.
        every: Seconds between two looks at the stores.
        tell: Called with a sentence for each store that has no page.
        announce: Called after the first pages are written.
    """
    try:
        pages.update(every, tell)
        announce()
        while not (pages.single and pages.finished):
            begun = time.monotonic()
            pages.update(every, tell)
            time.sleep(max(every, time.monotonic() - begun))  # at most half of the time
    except KeyboardInterrupt:
        pages.close(tell)
        raise


def _row(path: Path, facts: dict[str, Any], link: str = "") -> dict[str, Any]:
    empty = dict.fromkeys(("theory", "key", "axes", "runs", "state", "diverged", "error"), "")
    return empty | facts | {"name": path.name, "link": link}


def _facts(sweep: Sweep) -> dict[str, str]:
    """One line of the list, about one sweep."""
    data = sweep.data
    lost = int((data["diverged_at"] >= 0).sum()) if "diverged_at" in data else 0
    is_complete = sweep.finished == sweep.runs
    return {
        "theory": str(data.attrs.get("theory", "")),
        "key": str(data.attrs.get("key", "")),
        "axes": ", ".join(f"{axis} ({data.sizes[axis]})" for axis in axes(data)),
        "runs": str(sweep.runs),
        "state": "finished" if is_complete else f"{sweep.finished} of {sweep.runs} runs",
        "diverged": f"{lost} ({100 * lost / sweep.finished:.2g} %)" if lost else "0",
    }
