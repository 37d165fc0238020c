"""The caption and the numbers of a finished drawing, from its artists and the notes of `plot`."""

import re
import textwrap
from typing import Any, NamedTuple

import numpy as np

from jaxtheory.plotting.annotation import zeros
from jaxtheory.plotting.annotation.grid import words

COLUMNS = (
    *("panel", "title", "x_label", "y_label", "value_label", "kind", "label"),
    *("x", "y", "value", "low", "high", "n"),
)
_BAND = "two standard errors to either side, cut to the range of the runs"


class Drawn(NamedTuple):
    """An artist of a drawing with its meaning.

    kind: mean, runs (a mean with its runs), run, median, dots, shadow (of a band), theory,
    reference, cells, bars, boundary, outline, edge, law, bent (a law through values that bend),
    threshold, or open (the marks of means that leave out runs).
    low, high: the band; for cells the names of columns and rows; low of a threshold: its words.
    n: the least and the largest number of runs behind a mean, out of `seeds`.
    counts: the number of runs behind each point or cell.
    lost: the number of runs or cells without a value, out of `of`.
    """

    kind: str
    label: str
    artist: Any
    low: Any = None
    high: Any = None
    n: tuple[int, int] = (0, 0)
    lost: int = 0
    total: int = 0
    seeds: int = 0
    counts: Any = None


def notes(ax: Any) -> list[Drawn]:
    """Return the list of what was drawn into a panel, in order, to which callers append."""
    notes: list[Drawn] = ax.__dict__.setdefault("_jaxtheory_notes", [])
    return notes


def remark(figure: Any, text: str) -> None:
    """Add a sentence to the caption of a figure.

    Args:
        figure: The figure.
        text: A complete sentence.

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> plot.remark(figure, "Marks: one per run.")
        >>> plot.caption(figure)
        'Marks: one per run.'
    """
    figure.__dict__.setdefault("_jaxtheory_remarks", []).append(text)


def preface(figure: Any, text: str) -> None:
    """Begin the caption of a figure with a sentence.

    Args:
        figure: The figure.
        text: A complete sentence.

    Example:
        >>> from jaxtheory import plot
        >>> from jaxtheory.plotting.annotation.captions import preface
        >>> figure, axes = plot.panels()
        >>> plot.remark(figure, "Marks: one per run.")
        >>> preface(figure, "Loss by step.")
        >>> plot.caption(figure)
        'Loss by step. Marks: one per run.'
    """
    figure.__dict__["_jaxtheory_preface"] = [text]


def caption(figure: Any) -> str:
    """Return the caption of a figure, which describes its lines, bands, cells and marks.

    Args:
        figure: A figure that was drawn by the functions of `jaxtheory.plot`.

    Returns:
        Sentences, or "" if nothing was drawn.

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> plot.theory(axes[0, 0], None, 0.5, "limit")
        >>> plot.caption(figure)
        'Dashed: limit.'
    """
    drawn = [note for ax in figure.axes for note in notes(ax)]
    groups = {kind: [note for note in drawn if note.kind == kind] for kind in _KINDS}
    sentences = list(figure.__dict__.get("_jaxtheory_preface", ()))
    banded = [note for note in groups["mean"] if note.low is not None]
    if banded:
        sentences.append(f"Lines: means over {_seeds(banded)}; bands: {_BAND}.")
    elif groups["mean"]:
        one, seeds = groups["mean"][0].total == 1, _seeds(groups["mean"])
        sentences.append("Lines: one run each." if one else f"Lines: means over {seeds}.")
    if groups["runs"]:
        sentences.append(f"Thin lines: single runs of {_seeds(groups['runs'])}, thick: their mean.")
    if groups["median"]:
        middle_half = "bands: the middle half of the runs"
        sentences.append(f"Lines: medians over {_seeds(groups['median'])}; {middle_half}.")
    if groups["dots"]:
        sentences.append(f"Dots: means over {_seeds(groups['dots'])}; bars: {_BAND}.")
    if groups["cells"]:
        counted = [note for note in groups["cells"] if note.n[1]]
        if counted:
            sentences.append(f"Cells: means over {_seeds(counted)}.")
    if groups["bars"]:
        sentences.append(f"Bars: means over {_seeds(groups['bars'])}.")
    hatched = [
        note for note in groups["cells"] + groups["bars"] if note.n[0] < note.seeds and note.n[1]
    ]
    if hatched:
        sentences.append(
            "Hatched: the share of the runs without a value (diverged, or not defined); the mean "
            "is over the others."
        )
    elif any(note.lost for note in groups["cells"]):
        sentences.append("Hatched: no value (diverged, or not defined).")
    if any(note.kind == "open" for note in drawn):
        sentences.append("Open marks: means over the runs that have a value, with their number.")
    for kind, line_style in (
        ("theory", "Dashed"),
        ("boundary", "Dashed line"),
        ("outline", "Solid line"),
        ("reference", "Dotted"),
    ):
        names = list(dict.fromkeys(note.label for note in groups[kind] if note.label))
        names = names or ["theory"] * bool(groups[kind])
        if names:
            listed = ", ".join(names) if len(names) < 5 else "as in the legend"
            sentences.append(f"{line_style}: {listed}.")
    if groups["law"]:
        intervals = any(np.isfinite(note.low).any() for note in groups["law"])
        of_exponents = " with the 99 % intervals of their exponents" if intervals else ""
        sentences.append(f"Gray: fitted power laws{of_exponents}.")
    if groups["bent"]:
        sentences.append("Dotted gray: the mean slope of values that follow no power law.")
    if groups["threshold"]:
        listed = ", ".join(dict.fromkeys(note.label for note in groups["threshold"]))
        sentences.append(f"Thin dotted lines: what {listed} claims.")
    lost = {
        (note.label, note.lost, note.total) for note in groups["mean"] + groups["runs"] if note.lost
    }
    if lost:
        sentences.append(f"Left out, as they have no value: {_left_out(sorted(lost))}.")
    sentences += filter(None, [zeros.sentence([(ax, notes(ax)) for ax in figure.axes])])
    return " ".join([*sentences, *dict.fromkeys(figure.__dict__.get("_jaxtheory_remarks", ()))])


def replicates(figure: Any) -> str:
    """Return of how many seeds a figure is, or "" if it does not know of several."""
    drawn = [note for ax in figure.axes for note in notes(ax) if note.n[1] > 1]
    if not drawn:
        seeds = figure.__dict__.get("_jaxtheory_seeds", 1)
        return f"n = {seeds} seeds" if seeds > 1 else ""
    banded = any(note.kind in ("mean", "dots") and note.low is not None for note in drawn)
    halves = any(note.kind == "median" for note in drawn)
    return f"{_seeds(drawn)}{', ± 2 standard errors' * banded}{', medians and quartiles' * halves}"


def count_seeds(figure: Any, seeds: int) -> None:
    """Say of how many seeds a figure is, whose drawing does not note it."""
    figure.__dict__["_jaxtheory_seeds"] = seeds


_KINDS = (
    *("mean", "runs", "median", "dots", "cells", "bars", "theory", "boundary", "outline"),
    *("reference", "law", "bent", "threshold"),
)


def _seeds(drawn: list[Drawn]) -> str:
    """Describe the number of seeds behind means, as a range if runs have no value."""
    low, high = min(note.n[0] for note in drawn), max(note.n[1] for note in drawn)
    most = max(note.seeds for note in drawn)
    if low == high == most:
        return f"n = {high} seeds"
    return f"n = {low if low == high else f'{low} to {high}'} of {most} seeds"


def _left_out(lost: list[tuple[str, int, int]]) -> str:
    """Describe how many runs each line lacks, by the largest number if there are many lines."""
    if len(lost) == 1 or len({(missing, total) for _, missing, total in lost}) == 1:
        return f"{lost[0][1]} of {lost[0][2]} runs"
    if len(lost) < 5 and all(label for label, _, _ in lost):
        return ", ".join(f"{missing} of {total} runs of {label}" for label, missing, total in lost)
    _, missing, total = max(lost, key=lambda one: one[1] / one[2])
    return f"up to {missing} of {total} runs of a line"


def broken(text: str, inches: float, letter: float, *, even: bool = True) -> str:
    """Break a text into lines of at most so many inches, without breaking formulas.

    letter: the width of a letter in inches. even: make the lines about equally long.
    """
    parts = text.replace(" %", "\u00a0%").split("$")
    formulas = {chr(0xE000 + k): f"${formula}$" for k, formula in enumerate(parts[1::2])}
    parts[1::2] = [
        sign * max(1, len(without_markup(formula))) for sign, formula in formulas.items()
    ]
    most = max(8, int(inches / letter))
    lines: list[str] = []
    for line in "".join(parts).split("\n"):
        greedy = textwrap.wrap(line, most, break_long_words=False)
        width = min(most, len(line) // max(len(greedy), 1) + 6)
        balanced = textwrap.wrap(line, width, break_long_words=False)
        lines += balanced if even and len(balanced) == len(greedy) else greedy
    return re.sub("([\ue000-\uf8ff])\\1*", lambda match: formulas[match[1]], "\n".join(lines))


def without_markup(text: str) -> str:
    """Remove the markup of formulas, so that the text is about as long as it is printed."""
    return re.sub(r"[$\\{}^_]", "", re.sub(r"\\[a-zA-Z]+ ?", "x", text))


def diverged(data: Any) -> str:
    """Return a sentence on the runs of a dataset that diverged and on those that remain.

    Args:
        data: The dataset of a sweep, with the variable "diverged_at".

    Returns:
        A sentence, or "" if no run diverged.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> plot.diverged(xr.Dataset({"diverged_at": ("seed", [-1, 7, -1])}))
        '1 of 3 runs diverged.'
    """
    if "diverged_at" not in getattr(data, "variables", ()):
        return ""
    lost = data["diverged_at"] >= 0
    if not bool(lost.any()):
        return ""
    sentence = f"{int(lost.sum())} of {lost.size} runs diverged"
    remaining = (~lost).sum("seed").values if "seed" in lost.dims else np.zeros(0)
    if lost.ndim == 1 or not remaining.any():
        return f"{sentence}."
    seeds, none = lost.sizes["seed"], int((remaining == 0).sum())
    least = remaining[remaining > 0].min()
    if none:
        sentence += f": all {seeds} seeds at {none} of {remaining.size} points"
        return f"{sentence}; elsewhere at least {least} of {seeds} remain."
    return f"{sentence}; at least {least} of {seeds} seeds remain at each point."


def numbers(figure: Any) -> list[dict[str, Any]]:
    """Return the plotted numbers of a figure as the rows of a table.

    Args:
        figure: Any matplotlib figure.

    Returns:
        Rows with the keys panel (counted from 1), title, x_label, y_label, value_label (that of the
        color bar), kind, label, x, y, value, low, high and n. Titles and labels are in one line.
        kind is line, theory, reference, law, bent, threshold, run, point, bar, band or cell. For a
        cell x and y are the names of its column and row, and value is its number.

    Example:
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> plot.theory(axes[0, 0], [0, 1], [1.0, 0.5], "limit")
        >>> [(row["kind"], row["x"], row["y"]) for row in plot.numbers(figure)]
        [('theory', 0, 1.0), ('theory', 1, 0.5)]
    """
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    rows = []
    for panel, ax in enumerate(panels, 1):
        head = {"panel": panel} | words(ax)
        for row in _of_panel(ax):
            rows.append(dict.fromkeys(COLUMNS, "") | head | row)
    return rows


def _of_panel(ax: Any) -> list[dict[str, Any]]:
    """Return the rows of one panel."""
    note_of = {id(note.artist): note for note in notes(ax)}
    unlisted = ("shadow", "edge", "open", "boundary", "outline")
    rows, skipped = [], {key for key, note in note_of.items() if note.kind in unlisted}
    for container in ax.containers:
        if hasattr(container, "has_yerr"):
            rows += _errorbar(container)
            parts = container.lines
            skipped |= {id(p) for p in (parts[0], *parts[1], *parts[2])}
        else:
            rows += _bars(ax, container, note_of.get(id(container)))
    for line in (line for line in ax.lines if id(line) not in skipped):
        rows += _line(ax, line, note_of.get(id(line)))
    for drawn in (artist for artist in ax.collections if id(artist) not in skipped):
        rows += _collection(drawn, note_of.get(id(drawn)))
    for image in ax.images:
        table = np.ma.filled(image.get_array(), np.nan)
        rows += _cells(table, range(table.shape[1]), range(table.shape[0]))
    return rows


def _named(artist: Any) -> str:
    """Return the label of an artist, or "" for one that matplotlib generated."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def _line(ax: Any, line: Any, note: Drawn | None) -> list[dict[str, Any]]:
    """Return a row per point, or one row for a line across the panel."""
    kind = "line" if line.get_linestyle() != "None" else "point"
    if note and note.kind in ("theory", "reference", "run", "law", "bent", "threshold"):
        kind = note.kind
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
    """Return the points of an error bar with its ends."""
    line, _, (sticks, *_) = container.lines
    head = {"kind": "point", "label": _named(container)}
    return [
        head | {"x": _plain(x), "y": _plain(y), "low": _plain(s[0, 1]), "high": _plain(s[-1, 1])}
        for x, y, s in zip(*line.get_data(), zeros.whole_corners(sticks), strict=True)
    ]


def _bars(ax: Any, container: Any, note: Drawn | None) -> list[dict[str, Any]]:
    """Return the heights of bars, each with the nearest label on the axis."""
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
    """Return the cells of a mesh, the points of a scatter or the edges of a filled band."""
    if hasattr(drawn, "get_coordinates"):
        table, corners = np.ma.filled(drawn.get_array(), np.nan), drawn.get_coordinates()
        table = table.reshape(corners.shape[0] - 1, corners.shape[1] - 1)
        middle = (corners[1:, 1:] + corners[:-1, :-1]) / 2
        columns, rows = middle[0, :, 0], middle[:, 0, 1]
        cells = _cells(table, *((note.low, note.high) if note else (columns, rows)))
        if note is not None and note.counts is not None:
            for cell, count in zip(cells, np.ravel(note.counts), strict=True):
                cell["n"] = int(count)
        return cells
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
        for corners in zeros.whole_corners(drawn):
            ends: dict[Any, list[Any]] = {}
            for x, y in corners:
                ends.setdefault(_plain(x), []).append(_plain(y))
            rows += [
                {"kind": "band", "label": label, "x": x, "low": min(y), "high": max(y)}
                for x, y in ends.items()
            ]
        return rows
    return []


def _cells(table: np.ndarray, columns: Any, rows: Any) -> list[dict[str, Any]]:
    """Return a row per cell."""
    return [
        {"kind": "cell", "x": _plain(columns[j]), "y": _plain(rows[i]), "value": _plain(value)}
        for (i, j), value in np.ndenumerate(table)
    ]


def _plain(value: Any) -> Any:
    """Convert a NumPy scalar to a Python number or string."""
    return value.item() if hasattr(value, "item") else value
