"""What a finished drawing shows: its caption and its numbers, from its artists and what `plot`
noted when it drew them.
"""

import re
import textwrap
from typing import Any, NamedTuple

import numpy as np

COLUMNS = ("panel", "title", "kind", "label", "x", "y", "value", "low", "high", "n")
_SIZE, _LETTER, _LINE = 6.5, 0.53 / 72, 1.3 / 72  # points; inches per point of a letter, of a line
_BAND = "two standard errors to either side, cut to the range of the runs"


class Drawn(NamedTuple):
    """An artist and what it stands for.

    kind: mean, runs (a mean with its runs), run, shadow (of a band), theory, reference, cells,
    bars, boundary, outline, edge or open (the marks of means over survivors). low, high: the band,
    of cells the names of columns and rows. n: the least and the largest number of runs behind a
    mean, out of `seeds`; `counts`: that of each point or cell. lost of `of` runs or cells have no
    value.
    """

    kind: str
    label: str
    artist: Any
    low: Any = None
    high: Any = None
    n: tuple[int, int] = (0, 0)
    lost: int = 0
    of: int = 0
    seeds: int = 0
    counts: Any = None


def notes(ax: Any) -> list[Drawn]:
    """What was drawn into a panel, in order; the list itself, to add to."""
    found: list[Drawn] = ax.__dict__.setdefault("_jaxtheory_notes", [])
    return found


def remark(figure: Any, text: str) -> None:
    """A sentence for a figure's caption, on what `plot` cannot know."""
    figure.__dict__.setdefault("_jaxtheory_remarks", []).append(text)


def caption(figure: Any) -> str:
    """What the lines, bands, cells and marks of a figure are, in sentences; "" where nothing is
    known.
    """
    drawn = [note for ax in figure.axes for note in notes(ax)]
    of = {kind: [note for note in drawn if note.kind == kind] for kind in _KINDS}
    found = []
    banded = [note for note in of["mean"] if note.low is not None]
    if banded:
        found.append(f"Lines: means over {_seeds(banded)}; bands: {_BAND}.")
    elif of["mean"]:
        found.append("Lines: one run each." if of["mean"][0].of == 1 else "Lines: means.")
    if of["runs"]:
        found.append(f"Thin lines: single runs of {_seeds(of['runs'])}, thick: their mean.")
    if of["cells"]:
        counted = [note for note in of["cells"] if note.n[1]]
        if counted:
            found.append(f"Cells: means over {_seeds(counted)}.")
    if of["bars"]:
        found.append(f"Bars: means over {_seeds(of['bars'])}.")
    hatched = [note for note in of["cells"] + of["bars"] if note.n[0] < note.seeds and note.n[1]]
    if hatched:
        found.append(
            "Hatched: the share of the runs without a value (diverged, or not defined); the mean "
            "is over the others."
        )
    elif any(note.lost for note in of["cells"]):
        found.append("Hatched: no value (diverged, or not defined).")
    if any(note.kind == "open" for note in drawn):
        found.append("Open marks: means over the runs that have a value, with their number.")
    for kind, word in (
        ("theory", "Dashed"),
        ("boundary", "Dashed line"),
        ("outline", "Solid line"),
        ("reference", "Dotted"),
    ):
        names = list(dict.fromkeys(note.label for note in of[kind] if note.label))
        names = names or ["theory"] * bool(of[kind])
        if names:
            found.append(f"{word}: {', '.join(names) if len(names) < 5 else 'as named'}.")
    lost = {(note.label, note.lost, note.of) for note in of["mean"] + of["runs"] if note.lost}
    if lost:
        found.append(f"Left out, as they have no value: {_left_out(sorted(lost))}.")
    return " ".join([*found, *figure.__dict__.get("_jaxtheory_remarks", [])])


_KINDS = ("mean", "runs", "cells", "bars", "theory", "boundary", "outline", "reference")


def _seeds(drawn: list[Drawn]) -> str:
    """The number of seeds behind means; its range, and of how many, where runs have no value."""
    low, high = min(note.n[0] for note in drawn), max(note.n[1] for note in drawn)
    most = max(note.seeds for note in drawn)
    if low == high == most:
        return f"n = {high} seeds"
    return f"n = {low if low == high else f'{low} to {high}'} of {most} seeds"


def _left_out(lost: list[tuple[str, int, int]]) -> str:
    """How many runs each line lacks; their largest number where that would be long."""
    if len(lost) == 1 or len({(missing, of) for _, missing, of in lost}) == 1:
        return f"{lost[0][1]} of {lost[0][2]} runs"
    if len(lost) < 5 and all(label for label, _, _ in lost):
        return ", ".join(f"{missing} of {of} runs of {label}" for label, missing, of in lost)
    _, missing, of = max(lost, key=lambda one: one[1] / one[2])
    return f"up to {missing} of {of} runs of a line"


def broken(text: str, inches: float, letter: float, *, even: bool = True) -> str:
    """A text in lines of at most so many inches with letters of that width, even: of about the
    same length; formulas stay whole.
    """
    parts = text.split("$")
    whole = {chr(0xE000 + k): f"${formula}$" for k, formula in enumerate(parts[1::2])}
    parts[1::2] = [sign * max(1, len(bare(formula))) for sign, formula in whole.items()]
    most = max(8, int(inches / letter))
    lines: list[str] = []
    for line in "".join(parts).split("\n"):
        greedy = textwrap.wrap(line, most, break_long_words=False)
        width = min(most, len(line) // max(len(greedy), 1) + 6)
        balanced = textwrap.wrap(line, width, break_long_words=False)
        lines += balanced if even and len(balanced) == len(greedy) else greedy
    return re.sub("([\ue000-\uf8ff])\\1*", lambda found: whole[found[1]], "\n".join(lines))


def bare(text: str) -> str:
    """A text about as long as it is printed: formulas without what is not a letter there."""
    return re.sub(r"[$\\{}^_]", "", re.sub(r"\\[a-zA-Z]+ ?", "x", text))


def add_caption(figure: Any) -> None:
    """Write a figure's caption below it, once, where it gets room of its own."""
    text = caption(figure)
    if not text or figure.__dict__.get("_jaxtheory_captioned"):
        return
    figure.__dict__["_jaxtheory_captioned"] = True
    width, height = figure.get_size_inches()
    lines = broken(text, width - 0.2, _SIZE * _LETTER, even=False).split("\n")
    needed = len(lines) * _SIZE * _LINE + 0.1
    figure.set_size_inches(width, height + needed)
    share = needed / (height + needed)
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    bottom = share
    for legend in figure.legends:  # matplotlib makes room for one below only without an anchor
        legend.set_bbox_to_anchor((0, share, 1, 1 - share), figure.transFigure)
        room = legend.get_tightbbox().height / figure.dpi + 0.08
        bottom = max(bottom, share + room / (height + needed))
    figure.get_layout_engine().set(rect=(0, bottom, 1, 1 - bottom))
    place = {"ha": "left", "va": "bottom", "fontsize": _SIZE, "color": "#444444"}
    figure.text(0.1 / width, 0.05 / (height + needed), "\n".join(lines), **place)


def diverged(data: Any) -> str:
    """A sentence on the runs of a dataset that diverged, and on how many a point keeps; "" where
    none did.
    """
    if "diverged_at" not in getattr(data, "variables", ()):
        return ""
    lost = data["diverged_at"] >= 0
    if not bool(lost.any()):
        return ""
    said = f"{int(lost.sum())} of {lost.size} runs diverged"
    kept = (~lost).sum("seed").values if "seed" in lost.dims else np.zeros(0)
    if lost.ndim == 1 or not kept.any():
        return f"{said}."
    seeds, none = lost.sizes["seed"], int((kept == 0).sum())
    least = kept[kept > 0].min()
    if none:
        said += f": all {seeds} seeds at {none} of {kept.size} points"
        return f"{said}; elsewhere at least {least} of {seeds} remain."
    return f"{said}; at least {least} of {seeds} seeds remain at each point."


def numbers(figure: Any) -> list[dict[str, Any]]:
    """The plotted numbers as rows with the keys COLUMNS: panel counts from 1; kind is line, theory,
    reference, run, point, bar, band or cell (x, y: names of column and row; value: its number).
    """
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    rows = []
    for panel, ax in enumerate(panels, 1):
        head = {"panel": panel, "title": ax.get_title() or ax.get_ylabel()}
        for row in _of_panel(ax):
            rows.append(dict.fromkeys(COLUMNS, "") | head | row)
    return rows


def _of_panel(ax: Any) -> list[dict[str, Any]]:
    """The rows of one panel."""
    known = {id(note.artist): note for note in notes(ax)}
    rows, skipped = (
        [],
        {key for key, note in known.items() if note.kind in ("shadow", "edge", "open")},
    )
    skipped |= {key for key, note in known.items() if note.kind in ("boundary", "outline")}
    for container in ax.containers:
        if hasattr(container, "has_yerr"):
            rows += _errorbar(container)
            parts = container.lines
            skipped |= {id(p) for p in (parts[0], *parts[1], *parts[2])}
        else:
            rows += _bars(ax, container, known.get(id(container)))
    for line in (line for line in ax.lines if id(line) not in skipped):
        rows += _line(ax, line, known.get(id(line)))
    for drawn in (found for found in ax.collections if id(found) not in skipped):
        rows += _collection(drawn, known.get(id(drawn)))
    for image in ax.images:
        table = np.ma.filled(image.get_array(), np.nan)
        rows += _cells(table, range(table.shape[1]), range(table.shape[0]))
    return rows


def _named(artist: Any) -> str:
    """An artist's label; "" for the ones matplotlib makes up."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def _line(ax: Any, line: Any, note: Drawn | None) -> list[dict[str, Any]]:
    """A point per row; of a line across the panel the one number it stands at."""
    kinds = {"theory": "theory", "reference": "reference", "run": "run"}
    kind = kinds.get(
        note.kind if note else "", "line" if line.get_linestyle() != "None" else "point"
    )
    label = (note.label if note else "") or _named(line)
    in_x, in_y = line.get_transform().contains_branch_seperately(ax.transData)
    x, y = (np.atleast_1d(values) for values in (line.get_xdata(), line.get_ydata()))
    if not (in_x and in_y):
        at: dict[str, Any] = {"y": _plain(y[0])} if in_y else {"x": _plain(x[0])} if in_x else {}
        return [{"kind": kind, "label": label} | at]
    rows: list[dict[str, Any]] = [
        {"kind": kind, "label": label, "x": _plain(a), "y": _plain(b)}
        for a, b in zip(x, y, strict=True)
    ]
    if note is not None and note.counts is not None:
        for row, count in zip(rows, note.counts, strict=True):
            row["n"] = int(count)
    if note is not None and note.low is not None:
        for row, low, high in zip(rows, note.low, note.high, strict=True):
            row |= {"low": _plain(low), "high": _plain(high)}
    return rows


def _errorbar(container: Any) -> list[dict[str, Any]]:
    """The points of an error bar with its ends."""
    line, _, (sticks, *_) = container.lines
    head = {"kind": "point", "label": _named(container)}
    return [
        head | {"x": _plain(x), "y": _plain(y), "low": _plain(s[0, 1]), "high": _plain(s[-1, 1])}
        for x, y, s in zip(*line.get_data(), sticks.get_segments(), strict=True)
    ]


def _bars(ax: Any, container: Any, note: Drawn | None) -> list[dict[str, Any]]:
    """The heights of bars, by the nearest name on the axis."""
    names = [text.get_text() for text in ax.get_xticklabels()]
    places = np.asarray(ax.get_xticks(), float)
    rows = []
    for patch in container.patches:
        middle = patch.get_x() + patch.get_width() / 2
        nearest = int(np.argmin(abs(places - middle))) if len(places) else 0
        x = names[nearest] if names and names[nearest] else _plain(middle)
        top = _plain(patch.get_y() + patch.get_height())
        rows.append({"kind": "bar", "label": _named(container), "x": x, "y": top})
    if note is not None:
        for row, count in zip(rows, note.counts, strict=True):
            row["n"] = int(count)
    return rows


def _collection(drawn: Any, note: Drawn | None) -> list[dict[str, Any]]:
    """Cells of a mesh, points of a scatter, or the edges of a filled band."""
    if hasattr(drawn, "get_coordinates"):
        table, corners = np.ma.filled(drawn.get_array(), np.nan), drawn.get_coordinates()
        table = table.reshape(corners.shape[0] - 1, corners.shape[1] - 1)
        middle = (corners[1:, 1:] + corners[:-1, :-1]) / 2
        columns, rows = middle[0, :, 0], middle[:, 0, 1]
        found = _cells(table, *((note.low, note.high) if note else (columns, rows)))
        if note is not None and note.counts is not None:
            for row, count in zip(found, np.ravel(note.counts), strict=True):
                row["n"] = int(count)
        return found
    label = _named(drawn)
    if type(drawn).__name__ == "PathCollection":
        colors = drawn.get_array()
        values = [""] * len(drawn.get_offsets()) if colors is None else map(_plain, colors)
        return [
            {"kind": "point", "label": label, "x": _plain(x), "y": _plain(y), "value": value}
            for (x, y), value in zip(drawn.get_offsets(), values, strict=True)
        ]
    if type(drawn).__name__ in ("PolyCollection", "FillBetweenPolyCollection"):
        rows = []
        for path in drawn.get_paths():
            ends: dict[Any, list[Any]] = {}
            for x, y in path.vertices:
                ends.setdefault(_plain(x), []).append(_plain(y))
            rows += [
                {"kind": "band", "label": label, "x": x, "low": min(y), "high": max(y)}
                for x, y in ends.items()
            ]
        return rows
    return []


def _cells(table: np.ndarray, columns: Any, rows: Any) -> list[dict[str, Any]]:
    """A row per cell."""
    return [
        {"kind": "cell", "x": _plain(columns[j]), "y": _plain(rows[i]), "value": _plain(value)}
        for (i, j), value in np.ndenumerate(table)
    ]


def _plain(value: Any) -> Any:
    """A number or text of Python's own."""
    return value.item() if hasattr(value, "item") else value
