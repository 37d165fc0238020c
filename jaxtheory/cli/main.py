"""The command line `jaxtheory COMMAND`, with its commands and exit codes.

The commands are list, show, run, report, sweep, export, explore, merge, boundary, rerun, plan,
verify, prune, new and doctor. Only the modules of this folder print.

The exit codes are 0: done; 1: a claim or a check failed; 2: bad input, and nothing is written;
130 and 143: interrupted or terminated, and the store can be resumed. JAX and what depends on it are
imported when a command needs them, so that `--help` is fast.
"""

import contextlib
import dataclasses
import gc
import importlib
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg, subcommand

import jaxtheory
from jaxtheory.cli import export, interruption
from jaxtheory.cli.boundary import Boundary
from jaxtheory.cli.explore import Explore
from jaxtheory.cli.export import Export
from jaxtheory.cli.interruption import Terminated
from jaxtheory.cli.merge import Merge
from jaxtheory.cli.new import New
from jaxtheory.cli.rerun import Rerun
from jaxtheory.cli.run import RESULTS, Report, Run
from jaxtheory.cli.show import List, Show
from jaxtheory.cli.terminal import (
    flush,
    mend_streams,
    put,
    say,
    steps_progress,
    sweep_progress,
    table,
)
from jaxtheory.cli.words.arguments import Flag, read_command, takes
from jaxtheory.cli.words.executors import Machines
from jaxtheory.cli.words.log import Logs, combine, loggers
from jaxtheory.cli.words.parsing import SweepOptions, load_theory
from jaxtheory.system import disk
from jaxtheory.system.backend import computes
from jaxtheory.texts.errors import line, out_of_memory, place

if TYPE_CHECKING:
    from jaxtheory.core.config import Config
    from jaxtheory.core.theory import Theory


def _print_remark(theory: "Theory", config: "Config", arguments: dict[str, Any]) -> None:
    """Print why different sizes do not share programs although they could."""
    from jaxtheory.engine.planning.buckets import padding_note
    from jaxtheory.engine.request.request import read

    if text := padding_note(read(theory, config, **arguments)):
        put(f"sizes     {text}")


# ----------------------------------------------------------------------------------------- commands


@dataclasses.dataclass(frozen=True)
class Sweep(Machines, SweepOptions):
    """Train at every combination of axis values and write a labeled dataset.

    Values are a list 1,2,3 or a range, a:b:n (linear) or log:a:b:n (logarithmic), with both ends.

    The same command resumes an interrupted sweep.
    """

    store: Annotated[Path | None, takes("DIR")] = None
    """Directory of the results; by default results/<theory>-<hash of the request>."""
    plot: export.Metrics = None
    """Draw these metrics into the store, or the first if none is named; write it after THEORY."""
    log: Logs = ()
    """Log the means of the metrics at each record to a table, to TensorBoard, or to a function."""
    accept_versions: Flag = False
    """Add to a store begun under other package versions or on another type of processor."""
    no_wait: Flag = False
    """End with what is done when other processes compute the rest of the store."""

    def __call__(self) -> int:
        from jaxtheory.engine.results.identity import store_of

        logs = loggers(self.log, self.executor)  # first: it may load a file, as the theory may
        arguments = self.arguments()
        theory, config = arguments.pop("theory"), arguments.pop("config")
        export.check_metrics(theory, self.plot)
        store = (
            store_of(RESULTS, theory.name, theory, config, arguments)
            if self.store is None
            else disk.located(self.store)
        )
        _print_remark(theory, config, arguments)
        with self.open() as where, sweep_progress(theory.name) as bar:
            progress = combine(bar, *(open_log() for open_log in logs))
            arguments |= {"progress": progress, "accept_versions": self.accept_versions}
            arguments |= {"wait": not self.no_wait}
            data = jaxtheory.sweep(theory, config, **arguments, **where, store=store)
        export.print_dataset(data, store)
        export.print_summary(data)
        if self.plot is not None:
            export.draw_metrics(data, store, self.plot)
        return 0


@dataclasses.dataclass(frozen=True)
class Plan(Machines, SweepOptions):
    """Print how a sweep would run and what it would cost, without running it.

    The output lists points, buckets of equal shapes, compilations, memory and time.

    The arguments are those of `sweep`.
    """

    compile: Flag = False
    """Measure the time, which compiles, instead of estimating it."""

    def __call__(self) -> int:
        arguments = self.arguments()
        theory, config = arguments.pop("theory"), arguments.pop("config")
        script = self.script()
        plan = jaxtheory.plan(theory, config, **arguments, compile=self.compile)
        _print_remark(theory, config, arguments)
        buckets = plan.rows()
        for first in range(0, len(buckets), _BESIDE):
            some = dict(enumerate(buckets[first : first + _BESIDE], first + 1))
            rows = [(word, *(row[word] for row in some.values())) for word in buckets[0]]
            table("", ("bucket", *map(str, some)), rows)
        put(f"points       {plan.points} ({plan.runs} runs, {plan.problems} problems)")
        put(f"compilations {plan.compilations}")
        put(f"devices      {plan.devices}")
        put(f"chunks       {len(plan.chunks)}")
        put(f"memory       {plan.memory_bytes / 2**20:.1f} MiB")
        put(
            f"time         {plan.seconds:.1f} s "
            f"({'measured' if plan.measured else 'a rough estimate'})"
        )
        if script:
            put(f"\njob script\n\n{script}")
        return 0


@dataclasses.dataclass(frozen=True)
class Verify:
    """Compare every closed form with an independent derivation, in float64.

    Checks run on the examples of the theory. The exit code is 1 if a check fails.
    """

    theory: Positional[Annotated[str | None, takes("[THEORY]")]] = None
    """Theory or FILE.py; by default all theories."""
    seeds: int = 3
    """Number of random keys and field values per example."""
    full: Flag = False
    """Print a row per example in place of the worst example of each check."""

    def __call__(self) -> int:
        if self.seeds < 1:
            raise jaxtheory.InputError(f"seeds = {self.seeds}: must be an integer in [1, inf)")
        names = [self.theory] if self.theory is not None else list(jaxtheory.theories.names())
        from jaxtheory.verification.verify import verify_each, worst

        passed = True
        for name, result in verify_each(load_theory, names, self.seeds):
            rows = result.checks if self.full else worst(result.checks)
            columns = "check source kind example error tolerance passed remark".split()
            table(
                f"{name}: checks",
                columns,
                [tuple(getattr(row, column) for column in columns) for row in rows],
            )
            if result.assumptions:
                table(
                    f"{name}: assumptions",
                    ("example", "assumption", "holds", "margin"),
                    result.assumptions,
                )
            put(
                f"{name}: {sum(row.passed for row in result.checks)} "
                f"of {len(result.checks)} checks passed{result.note}\n"
            )
            passed &= result.passed
        return int(not passed)


@dataclasses.dataclass(frozen=True)
class Prune:
    """Prune a checkpoint of a Llama, Mistral, Qwen2 or Qwen3 and write the pruned one.

    The output lists zeros and the error of the attention per layer, and the perplexity.
    """

    folder: Positional[Annotated[Path, arg(metavar="FOLDER")]]
    """A checkpoint with config.json, safetensors files and tokenizer.json."""
    to: Annotated[Path, arg(metavar="FOLDER")]
    """Folder of the pruned checkpoint, which must not exist or be empty."""
    text: Annotated[Path, arg(metavar="PATH")]
    """A UTF-8 file or a folder of them; 4/5 are for calibration, the last 1/5 for evaluation."""
    ratio: Annotated[float | None, takes("FLOAT")] = None
    """Share of zeros in each pruned matrix, in [0, 1); by default 0.5, or that of --pattern."""
    mlp_ratio: Annotated[float | None, takes("FLOAT")] = None
    """Share of zeros in the matrices of the MLP; by default that of --ratio."""
    attention: Annotated[str, takes("METHOD")] = "gradient"
    """Method for the query and key weights: gradient, wanda, sparsegpt, magnitude or dense."""
    mlp: Annotated[str, takes("METHOD")] = "dense"
    """Method for the MLP: dense, wanda, sparsegpt or magnitude."""
    value_output: Annotated[str, takes("METHOD")] = "dense"
    """Method for the value and output weights: dense, wanda, sparsegpt or magnitude."""
    pattern: Annotated[str | None, takes("N:M")] = None
    """Keep N of every M consecutive inputs, in place of a share of zeros."""
    temperature: Flag = False
    """Rescale the logits of each head after pruning."""
    samples: int = 8
    """Number of calibration windows."""
    window: int = 128
    """Number of tokens per window."""
    evaluate: int = 128
    """Largest number of evaluation windows, from the last fifth of the text."""
    eval_text: Annotated[Path | None, takes("PATH")] = None
    """Another UTF-8 file or folder for perplexity and bits per byte, in windows side by side."""
    stride: Annotated[int | None, takes("INT")] = None
    """Tokens from a window of --eval-text to the next, and scored in each; by default --window."""
    eval_windows: Annotated[int | None, takes("INT")] = None
    """Number of windows from the start of --eval-text; by default the whole text."""
    sizes: Flag = False
    """Also print the bytes of the weights: in full, with a bit mask of the zeros, and by zlib."""
    key: int = 0
    """Seed of the random choice of calibration windows."""

    def __call__(self) -> int:
        from jaxtheory.llama import folder

        options = dataclasses.asdict(self)
        source, to, text = (disk.located(options.pop(name)) for name in ("folder", "to", "text"))
        options["pattern"] = folder.pattern(self.pattern)
        if self.eval_text is not None:
            options["eval_text"] = disk.located(self.eval_text)
        with steps_progress(f"prune {source}") as progress:
            pruned = folder.prune_checkpoint(source, to, text, progress=progress, **options)
        report = pruned.report
        errors = ("attention_error", "attention_error_heldout", "regularization")
        table(
            f"{source}: share of zeros, and ||f - f*|| / ||f*|| of the attention",
            ("layer", *report.matrix.values, "error", "held out", "lambda"),
            [
                (i, *map(float, row.sparsity), *(float(row[name]) for name in errors))
                for i, row in ((i, report.sel(layer=i)) for i in report.layer.values)
            ],
        )
        put(f"sparsity    {float(report.sparsity_of_model):.4f} of all weights")
        put(f"perplexity  {pruned.before:.4f} before, {pruned.after:.4f} after")
        if self.eval_text is not None:
            tokens, size = int(report.eval_tokens), int(report.eval_bytes)
            put(f"{self.eval_text}: {tokens} tokens with {size} bytes are scored")
            for label, name in (
                ("perplexity", "eval_perplexity"),
                ("bits per byte", "eval_bits_per_byte"),
            ):
                before, after = map(float, report[name])
                put(f"  {label:<13}  {before:.4f} before, {after:.4f} after")
        if self.sizes:
            table(
                "bytes of all weights",
                ("format", "before", "after", "after / before in full"),
                [
                    (name, int(before), int(after), float(after / report.stored_bytes[0, 0]))
                    for name, before, after in zip(
                        report.format.values, *report.stored_bytes, strict=True
                    )
                ],
            )
        put(f"checkpoint  {to}")
        return 0


@dataclasses.dataclass(frozen=True)
class Doctor:
    """Print the versions, devices, number format, caches and directories of this installation.

    The exit code is 2 if JAX cannot start.
    """

    repair: Flag = False
    """Remove programs from the compilation cache that a killed process or a full disk damaged."""

    def __call__(self) -> int:
        from jaxtheory.cli.doctor import facts, repaired, running

        contents = [
            ("theories", ", ".join(jaxtheory.theories.names())),
            ("figures", len(jaxtheory.figures.entries())),
        ]
        try:
            backend, code = running(), 0
            if self.repair:
                backend.append(("repaired", repaired()))
        except jaxtheory.InputError as error:
            backend, code = [("jax", str(error))], 2
        table("doctor", ("", ""), facts(RESULTS) + backend + contents)
        return code


# --------------------------------------------------------------------------------------------- main

_Command = (
    Annotated[List, subcommand("list")]
    | Annotated[Show, subcommand("show")]
    | Annotated[Run, subcommand("run")]
    | Annotated[Report, subcommand("report")]
    | Annotated[Sweep, subcommand("sweep")]
    | Annotated[Export, subcommand("export")]
    | Annotated[Explore, subcommand("explore")]
    | Annotated[Merge, subcommand("merge")]
    | Annotated[Boundary, subcommand("boundary")]
    | Annotated[Rerun, subcommand("rerun")]
    | Annotated[Plan, subcommand("plan")]
    | Annotated[Verify, subcommand("verify")]
    | Annotated[Prune, subcommand("prune")]
    | Annotated[New, subcommand("new")]
    | Annotated[Doctor, subcommand("doctor")]
)


_BESIDE = 3  # buckets of a plan in a table
_LONG = 200  # characters of a name of a file in a message
# Doctor reports a JAX that cannot start
_WITHOUT_JAX = (List, New, Report, Export, Explore, Merge, Doctor)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    mend_streams()
    return flush(_code(list(sys.argv[1:] if argv is None else argv)))


def _load_xarray() -> None:
    """Load xarray without Dask, which it imports with its first array, in a third of a second."""
    if hidden := "dask" not in sys.modules:
        sys.modules["dask"] = None  # type: ignore[assignment]
    try:
        importlib.import_module("xarray").DataArray(0)  # xarray looks for Dask once
    finally:
        if hidden:
            del sys.modules["dask"]


def _code(words: list[str]) -> int:
    """Run a command and return its exit code, after a message on stderr if it failed."""
    try:
        command = read_command(_Command, words)
        if isinstance(command, _WITHOUT_JAX):
            return command()
        _load_xarray()
        return computes(command)()
    except SystemExit as stop:  # after --help
        return int(stop.code or 0)
    except KeyboardInterrupt as exception:
        interruption.stop()
        terminated = isinstance(exception, Terminated)
        ended, code = ("terminated", 143) if terminated else ("interrupted", 130)
        resumes = words[:1] in (["run"], ["sweep"], ["prune"])
        say(f"{ended}; resume with: {shlex.join([_program(), *words])}" if resumes else ended)
        return code
    except BrokenPipeError:  # the reader, such as `| head`, has closed the pipe
        return 141
    except jaxtheory.InputError as error:
        say(error)
        return 2
    except Exception as error:
        where = "" if (memory := out_of_memory(error)) else place(error)
        if not (memory or where or isinstance(error, OSError)):
            raise
        say(f"{line(error)}{where}" if memory or where else _of_file(error))
        return 2


def _program() -> str:
    """Return how this command is called: by its path if it is not on PATH."""
    called = Path(sys.argv[0])
    return (
        str(called) if called.name == "jaxtheory" and not shutil.which("jaxtheory") else "jaxtheory"
    )


def _of_file(error: Exception) -> str:
    """Return a line for an OSError: the file, with the middle of a long name left out, and why."""
    name = str(getattr(error, "filename", None) or "")
    if not name or not isinstance(error, OSError):
        return line(error)
    short = name if len(name) <= _LONG else f"{name[: _LONG // 2]}...{name[-_LONG // 2 :]}"
    return f"{short}: {error.strerror or line(error)}; choose another file or folder"


def entry() -> None:
    """Console entry point, which exits with `os._exit`.

    Interpreter teardown takes 0.4 s, and worker threads that still run after Ctrl-C would crash it.
    """
    os.environ["MPLBACKEND"] = "agg"  # figures are files, so a notebook's backend is not needed
    gc.set_threshold(100_000)  # tracing makes many long-lived objects; saves 10 % of a short sweep
    interruption.listen()
    code = main()
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    entry()
