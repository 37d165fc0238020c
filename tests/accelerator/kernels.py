"""Kernels of the engine's programs on an accelerator, counted on a machine without one.

    python tests/accelerator/kernels.py cuda|tpu [THEORY ...] [--write]

XLA compiles for an NVIDIA H100 from its description in h100.txt, and for a TPU v5e with libtpu. A
line of JSON per theory says for the benchmark's sweep of 32 runs: the number of chunks; for the
training loop the known lengths of nested loops, from the outermost, and the kernels of a step; the
kernels of a record; and the custom calls of all programs. A kernel is an instruction of the
scheduled program that runs on the device: a fusion, a copy, a sort, a library call. One in a loop
of unknown length counts once. `--write` keeps the counts in kernels.json, and writes the table of
docs/performance.md.
"""

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import jax
import jaxlib
import numpy as np
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.study import Study

from jaxtheory.engine.compute import compiled, precompile, program
from jaxtheory.engine.planning import planner
from jaxtheory.engine.planning.buckets import lanes
from jaxtheory.engine.request.request import read
from jaxtheory.engine.request.settings import numerics
from jaxtheory.theories import names

HERE = Path(__file__).parent
TABLE = HERE / "kernels.json"
PAGE = HERE.parents[1] / "docs" / "performance.md"
MARKS = ("<!-- kernels -->", "<!-- /kernels -->")
# instructions that run no kernel
_SILENT = {
    *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "copy-done"),
    *("async-done", "async-update", "partition-id"),
}
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = .*?[\s)]([a-z][a-z0-9-]*)\(")
_CALLED = re.compile(r"(?:to_apply|calls|body|condition|branch_computations)=\{?(%[^\s})]+)")
_LENGTH = re.compile(r'known_trip_count":?=?\{"n":"(\d+)"')


class Counted(NamedTuple):
    """Kernels of a computation outside of its loops, and its loops by their length, None if that
    is not known.
    """

    kernels: int
    loops: list[tuple[int | None, "Counted"]]

    @property
    def total(self) -> int:
        return self.kernels + sum((length or 1) * inner.total for length, inner in self.loops)

    def path(self) -> Iterator[tuple[int | None, "Counted"]]:
        """The longest loop, the longest within it, and so on."""
        if self.loops:
            longest = max(self.loops, key=lambda loop: (loop[0] or 1) * loop[1].total)
            yield longest
            yield from longest[1].path()


def counted(text: str) -> Counted:
    """Count the kernels of a compiled program."""
    computations: dict[str, list[str]] = {}
    for line in text.splitlines():
        if (match := re.match(r"(ENTRY )?(%[\w.-]+) .*\{$", line)) is not None:
            computations["ENTRY" if match[1] else match[2]] = lines = []
        elif line.startswith("  "):
            lines.append(line)

    def walk(name: str) -> Counted:
        kernels, loops = 0, []
        for line in computations[name]:
            match = _INSTRUCTION.match(line)
            if match is None or (kind := match[1]) in _SILENT:
                continue
            called = dict(re.findall(r"(\w+)=(%[\w.-]+)", line))
            if kind == "while":
                body, condition = walk(called["body"]), walk(called["condition"])
                length = _LENGTH.search(line)
                inner = Counted(body.kernels + condition.kernels, body.loops)
                loops.append((int(length[1]) if length else None, inner))
            elif kind == "call":
                inner = walk(called["to_apply"])
                kernels, loops = kernels + inner.kernels, loops + inner.loops
            else:
                kernels += 1
        return Counted(kernels, loops)

    return walk("ENTRY")


def device(platform: str) -> Any:
    """An H100 or a v5e that is not there."""
    if platform == "tpu":
        return topologies.get_topology_desc("v5e:2x2", "tpu").devices[0]
    description = (HERE / "h100.txt").read_text()
    described = topologies.get_topology_desc(
        "gpu", "cuda", topology="1x1x1", target_config=description
    )
    return described.devices[0]


def measure(name: str, platform: str) -> dict[str, Any]:
    """The counts of a theory, as the module's text says."""
    study: Study = importlib.import_module(f"benchmarks.{name}").STUDY
    request = read(
        study.theory,
        study.config,
        vary={study.field: study.values},
        seeds=study.seeds,
        steps=study.steps,
        record=[0, study.steps],
    )
    with mock.patch.object(jax, "default_backend", lambda: "tpu" if platform == "tpu" else "gpu"):
        plan = planner.plan_request(request)
        bucket = plan.chunks[0].bucket
        algorithm = request.theory.algorithms[bucket.algorithm]
        trainer = program.Program(request.theory, algorithm, bucket.template, bucket.layout)
        recording = trainer.train(request.schedule.records, (None,))
        train = trainer.train(request.schedule.records, (frozenset(),))  # without metrics
        metrics = trainer.evaluate("metrics")
        functions = precompile.Functions(
            trainer.draw(lanes(request, plan.chunks[0]).has_distinct_problems),
            trainer.begin(),
            recording,
            trainer.baselines(),
            metrics,
            None,
        )
        texts: dict[Any, str] = {}

        def submit(function: Any, *shapes: Any) -> None:
            for entry in (
                (recording, train) if function.__self__ is recording else (function.__self__,)
            ):
                texts[entry] = compiled_text(entry, shapes, platform)

        with numerics(request.dtype, request.partitionable):
            precompile._everything(request, functions, lanes(request, plan.chunks[0]), submit)
    loops = list(counted(texts[train]).path())
    lengths = [length for length, _ in loops[1:3]]  # the first is over records
    return {
        "chunks": len(plan.chunks),
        "lengths": lengths,
        "step": loops[min(2, len(loops) - 1)][1].total,
        "record": counted(texts[metrics]).total,
        "calls": sorted(
            {x for entry in texts.values() for x in re.findall(r'target="([^"]+)', entry)}
        ),
    }


def compiled_text(function: compiled.Compiled, shapes: Any, platform: str) -> str:
    """The text of a compiled function."""
    place = SingleDeviceSharding(device(platform))
    typed = lambda x: x if hasattr(x, "dtype") else np.asarray(x)
    at = lambda x: jax.ShapeDtypeStruct(np.shape(x), typed(x).dtype, sharding=place)
    traced = jax.jit(function.function.__wrapped__).trace(*jax.tree.map(at, shapes))
    return str(traced.lower(lowering_platforms=(platform,)).compile().as_text())


def markdown(table: dict[str, Any]) -> str:
    """The counts of one version of jaxlib as rows of a page."""
    cuda, tpu = (table.get(platform, {}) for platform in ("cuda", "tpu"))
    cells = lambda counts: f"{counts['step']} | {counts['record']}" if counts else " | "
    rows = [
        f"| {name} | {cuda[name]['lengths'][-1]} | {cells(cuda[name])} | {cells(tpu.get(name))} |"
        for name in names()
        if name in cuda
    ]
    head = "| theory | steps in a block | H100: a step | a record | v5e: a step | a record |"
    return "\n".join([head, f"|{'---|' * 6}", *rows])


def write_page(table: dict[str, Any]) -> None:
    """Put the rows between the marks of the page."""
    first, text = PAGE.read_text().split(MARKS[0])
    last = text.partition(MARKS[1])[2]
    PAGE.write_text(f"{first}{MARKS[0]}\n\n{markdown(table)}\n\n{MARKS[1]}{last}")


def main() -> None:
    jax.config.update("jax_enable_compilation_cache", False)  # it needs a device to read
    platform, *theories = [word for word in sys.argv[1:] if word != "--write"]
    counts = {}
    for name in theories or names():
        counts[name] = measure(name, platform)
        print(json.dumps({name: counts[name]}), flush=True)
    if "--write" in sys.argv:
        table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
        table.setdefault(jaxlib.__version__, {}).setdefault(platform, {}).update(counts)
        TABLE.write_text(json.dumps(table, indent=1) + "\n")
        write_page(table[jaxlib.__version__])


if __name__ == "__main__":
    main()
