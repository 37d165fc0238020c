"""`make bench-gpu`: every theory on the accelerator, against plain JAX there and the sweep on the
CPU, whose curves it must give.

Sides that compute on the host are left out. A row that fails gives its reason, and the others go
on. At the given seconds it ends: nothing more is begun in the last of them, and what is left is
listed. All sides multiply matrices in float32, as sweeps do; JAX's default would be TF32 on a GPU.
The CPU is measured meanwhile, on half of its cores, so that it does not delay the accelerator.
"""

import contextlib
import importlib
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jaxtheory.theories import names

LAST = 60  # seconds in which nothing more is begun
MARKS = ("<!-- bench-gpu -->", "<!-- /bench-gpu -->")
HALF = (
    "No theory takes bfloat16: a sweep computes in float32 or float64. The rate of bfloat16 is "
    "that of the device alone."
)
ROW = (
    "theory",
    "row",
    "jaxtheory s",
    "other s",
    "ratio",
    "compile s",
    "other compile s",
    "floor s",
    "floor / jaxtheory",
    "of bandwidth",
    "of matmul peak",
)
LANES = (
    "theory",
    "32 runs s",
    "CPU s",
    "CPU / this",
    "512 runs s",
    "CPU s",
    "CPU / this",
    "curves",
    "equal within 1e-4",
    "at most",
    "as far as twins",
    "further",
    "equal to the CPU",
)


def measure(modules: tuple[str, ...], seconds: float) -> dict[str, Any]:
    """Rates, rows, lanes, and what is left with the reason, as JSON takes them."""
    import jax
    from benchmarks import floor, lanes

    from jaxtheory.engine.compute import compiled

    end = time.perf_counter() + seconds
    until = end - LAST
    report: dict[str, Any] = {"rates": {}, "rows": [], "lanes": [], "left": {}}
    device_lanes: dict[str, Any] = {}
    chosen = [name for name in modules if name in names()]
    with on_cpu(chosen) as collect:
        attempt(report, "rates", until, lambda: report["rates"].update(floor.measured()))
        jax.config.update("jax_default_matmul_precision", "highest")
        for name in chosen:
            module = importlib.import_module(f"benchmarks.{name}")
            own = lambda name=name, module=module: device_lanes.update(
                {name: lanes.measured(module.STUDY)}
            )
            attempt(
                report, f"{name}: rows", until, lambda m=module: rows(m.groups(), report, until)
            )
            attempt(report, f"{name}: lanes", until, own)
            compiled._compiled.clear()
            jax.clear_caches()
        cpu_lanes = collect(end - time.perf_counter())
    for name, mine in device_lanes.items():
        theirs = cpu_lanes.get(name, "no time was left")
        if isinstance(theirs, str):
            report["left"][f"{name}: CPU"] = theirs
        else:
            compare = lambda n=name, m=mine, t=theirs: report["lanes"].append(side_by_side(n, m, t))
            attempt(report, f"{name}: CPU", np.inf, compare)
    return report


def attempt(report: dict[str, Any], what: str, until: float, run: Callable[[], Any]) -> None:
    """Run, or keep the reason why not."""
    begun = time.perf_counter()
    if begun > until:
        report["left"][what] = "no time was left"
        return
    try:
        run()
    except Exception as error:  # of any kind: the other rows go on
        report["left"][what] = reason(error)
    took = time.perf_counter() - begun
    print(f"  ({took:.0f} s) {what} {report['left'].get(what, '')}", file=sys.stderr, flush=True)


def reason(error: Exception) -> str:
    """The first line of an error, for a cell of a table."""
    text = str(error).strip() or repr(error)
    return f"{type(error).__name__}: {text.splitlines()[0][:160]}".replace("|", "/")


def rows(groups: Iterator[Any], report: dict[str, Any], until: float) -> None:
    """The rows of a theory's groups whose sides compute on the device."""
    for group in groups:
        lines = [line for line in group.lines if line.kind != "cpu" and "NumPy" not in line.name]
        if group.more or not lines:
            continue
        used = {name for line in lines for name in (line.ours, line.baseline)}
        sides = {name: side for name, side in group.sides.items() if name in used}
        short = group._replace(lines=lines, sides=sides)
        what = f"{group.theory}: {', '.join(line.name for line in lines)}: {group.setting}"
        attempt(report, what, until, lambda short=short: report["rows"].extend(timed(short)))


def timed(group: Any) -> list[dict[str, Any]]:
    """The records of a group's rows, with the shares of the two peaks that our side reaches."""
    from benchmarks import floor, table, timing

    timings = timing.alternating(group.sides, rounds=3)
    floors = {side: floor.seconds(work) for side, work in group.work.items()}
    records = table.records(table.rows(group, timings, floors))
    for line, record in zip(group.lines, records, strict=True):
        work, seconds = group.work[line.ours], record["ours"]
        record["bandwidth"] = work.moved / seconds / floor.copying(floor.LARGEST)
        record["matmul"] = work.flops / seconds / floor.multiplying()
        print(" | ".join(row_cells(record)), file=sys.stderr, flush=True)
    return records


@contextlib.contextmanager
def on_cpu(modules: list[str]) -> Iterator[Callable[[float], dict[str, Any]]]:
    """Lanes on half of this machine's cores, from another process: a function of the seconds to
    wait at most, which gives as much as there is.
    """
    from benchmarks import lanes

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lanes"
        child = subprocess.Popen(
            [sys.executable, lanes.__file__, str(file), *modules],
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
        )

        def collect(seconds: float) -> dict[str, Any]:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(seconds, 1))
            return pickle.loads(file.read_bytes()) if file.exists() else {}

        try:
            yield collect
        finally:
            child.kill()
            child.wait()


def side_by_side(name: str, device: Any, cpu: Any) -> dict[str, Any]:
    """Seconds of both devices, and how the curves compare."""
    from benchmarks import lanes

    seconds = {"seconds": [device.seconds, cpu.seconds], "wide": [device.wide, cpu.wide]}
    return {"theory": name, **seconds, **lanes.compared(device.curves, cpu)._asdict()}


def row_cells(record: dict[str, Any]) -> list[str]:
    """A row as words."""
    from benchmarks import table

    cells = table.cells(table.row(record))
    shares = [f"{100 * record[name]:.2g} %" for name in ("bandwidth", "matmul")]
    return [*cells[:5], *cells[7:11], *shares]


def lane_cells(record: dict[str, Any]) -> list[str]:
    """The lanes of a theory as words."""
    from benchmarks.table import number

    times = []
    for device, cpu in (record["seconds"], record["wide"]):
        times += [number(device), number(cpu), number(cpu / device)]
    return [
        record["theory"],
        *times,
        *(str(record[name]) for name in ("variables", "close")),
        f"{record['largest']:.1e}",
        str(record["explained"]),
        ", ".join(f"`{name}` {gap:.1e}" for name, (gap, _) in record["mismatches"].items()),
        "NO" if record["mismatches"] else "yes",
    ]


def merged(files: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows and lanes of several runs, of equal ones the last; what was left in all of them."""
    rows, lanes = {}, {}
    for file in files:
        rows |= {(row["theory"], row["name"], row["setting"]): row for row in file["rows"]}
        lanes |= {lane["theory"]: lane for lane in file["lanes"]}
    omissions = {
        what: why
        for what, why in files[-1]["left"].items()
        if all(what in file["left"] for file in files)
    }
    place = lambda entry: names().index(entry["theory"])
    return {
        "rows": sorted(rows.values(), key=place),
        "lanes": sorted(lanes.values(), key=place),
        "left": omissions,
    }


def page(report: dict[str, Any], facts: list[str]) -> str:
    """Both tables, the settings and what is left, as Markdown."""
    line = lambda words: f"| {' | '.join(words)} |"
    block = lambda head, body: "\n".join(map(line, [head, ["---"] * len(head), *body]))
    settings = dict.fromkeys((row["theory"], row["setting"]) for row in report["rows"])
    omissions = [f"- {what}: {why}" for what, why in report["left"].items()]
    return "\n".join(
        [
            block(ROW, map(row_cells, report["rows"])),
            "",
            *(f"- `{theory}`: {setting}" for theory, setting in settings),
            "",
            block(LANES, map(lane_cells, report["lanes"])),
            "",
            *(
                ["Not measured:", "", *omissions]
                if omissions
                else ["Nothing failed or was left out."]
            ),
            "",
            HALF,
            "",
            "Measured by",
            "",
            *(f"- {one}" for one in facts),
        ]
    )
