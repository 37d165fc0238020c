"""The command line: `jaxtheory list | show | run | report | sweep | export | plan | verify |
prune | new | doctor`. It and `run`, `show`, `export` beside it are the only places that print.

Exit codes: 0 done, 1 a claim or a check failed, 2 bad input (nothing is written), 130 interrupted
(the store can be resumed). JAX and all that rests on it load when a command needs them, so that
`--help` does not wait.
"""

import contextlib
import dataclasses
import gc
import importlib.util
import keyword
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import FlagCreatePairsOff, Positional, arg, subcommand

import jaxtheory
from jaxtheory.cli import export
from jaxtheory.cli.executors import Machines
from jaxtheory.cli.export import Export
from jaxtheory.cli.parsing import Words, load_theory
from jaxtheory.cli.run import RESULTS, Report, Run
from jaxtheory.cli.show import List, Show
from jaxtheory.cli.terminal import flush, mend_streams, say, steps_progress, sweep_progress, table
from jaxtheory.core import plugins
from jaxtheory.core.errors import line, place
from jaxtheory.system import disk
from jaxtheory.system.backend import computes

if TYPE_CHECKING:
    from jaxtheory.core.config import Config
    from jaxtheory.core.theory import Theory


def _remark(theory: "Theory", config: "Config", asked: dict[str, Any]) -> None:
    """Say why sizes do not share programs, where they could."""
    from jaxtheory.engine.planning.layout import remark
    from jaxtheory.engine.request.request import read

    if said := remark(read(theory, config, **asked)):
        print(f"sizes     {said}")


# ----------------------------------------------------------------------------------------- commands


@dataclasses.dataclass(frozen=True)
class Sweep(Machines, Words):
    """Train at every point of the axes and write one labeled dataset. The same command resumes.

    Values: a list 1,2,3; a:b:n (linear) or log:a:b:n, both ends included.
    """

    store: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory of the results; results/<theory>-<hash of the request> by default."""
    plot: export.Metrics = None
    """Draw metrics into the store, the first one without a name; give it after THEORY."""
    accept_versions: FlagCreatePairsOff[bool] = False
    """Resume a sweep that was begun under other versions of JAX or its like; it is noted."""

    def __call__(self) -> int:
        from jaxtheory.engine.results.identity import store_of

        asked = self.asked()
        theory, config = asked.pop("theory"), asked.pop("config")
        export.check_metrics(theory, self.plot)
        store = (
            store_of(RESULTS, theory.name, theory, config, asked)
            if self.store is None
            else disk.located(self.store)
        )
        _remark(theory, config, asked)
        with self.opened() as where, sweep_progress(theory.name) as progress:
            asked |= {"progress": progress, "accept_versions": self.accept_versions}
            data = jaxtheory.sweep(theory, config, **asked, **where, store=store)
        print(f"store     {store}")
        print(f"dataset   {store / 'data.zarr'}")
        print(f"dims      {', '.join(f'{name} {size}' for name, size in data.sizes.items())}")
        print(f"variables {', '.join(map(str, data.data_vars))}")
        diverged = int((data["diverged_at"] >= 0).sum())
        if diverged:
            print(
                f"diverged  {diverged} of {data['diverged_at'].size} runs; "
                "their records are NaN from diverged_at on"
            )
        export.tell(data)
        if self.plot is not None:
            export.draw(data, store, self.plot)
        return 0


@dataclasses.dataclass(frozen=True)
class Plan(Machines, Words):
    """How a sweep would run, and at what cost: points, buckets, compilations, memory, time. Takes
    sweep's arguments; runs nothing.
    """

    compile: FlagCreatePairsOff[bool] = False
    """Compile and time instead of estimating."""

    def __call__(self) -> int:
        asked = self.asked()
        theory, config = asked.pop("theory"), asked.pop("config")
        script = self.script()
        plan = jaxtheory.plan(theory, config, **asked, compile=self.compile)
        _remark(theory, config, asked)
        rows = plan.rows()
        if rows:
            table("buckets", tuple(rows[0]), [tuple(row.values()) for row in rows])
        print(f"points       {plan.points} ({plan.runs} runs, {plan.problems} problems)")
        print(f"compilations {plan.compilations}")
        print(f"devices      {plan.devices}")
        print(f"chunks       {len(plan.chunks)}")
        print(f"memory       {plan.memory_bytes / 2**20:.1f} MiB")
        print(
            f"time         {plan.seconds:.1f} s "
            f"({'measured' if plan.measured else 'a rough estimate'})"
        )
        if script:
            print(f"\njob script\n\n{script}")
        return 0


@dataclasses.dataclass(frozen=True)
class Verify:
    """Hold every closed form against its second route, in float64, over the theory's examples. Exit
    code 1 if one fails.
    """

    theory: Positional[Annotated[str | None, arg(metavar="THEORY")]] = None
    """Theory or FILE.py; all theories by default."""
    seeds: int = 3
    """Random keys and field values per example."""
    full: FlagCreatePairsOff[bool] = False
    """One row per example, instead of the worst example of each check."""

    def __call__(self) -> int:
        if self.seeds < 1:
            raise jaxtheory.InputError(f"seeds = {self.seeds}: must be an integer in [1, inf)")
        names = [self.theory] if self.theory else list(jaxtheory.theories.names())
        from jaxtheory.verification.verify import verify_each, worst

        passed = True
        for name, found in verify_each(load_theory, names, self.seeds):
            rows = found.checks if self.full else worst(found.checks)
            columns = "check source kind example error tolerance passed remark".split()
            table(
                f"{name}: checks",
                columns,
                [tuple(getattr(row, column) for column in columns) for row in rows],
            )
            if found.assumptions:
                table(
                    f"{name}: assumptions",
                    ("example", "assumption", "holds", "margin"),
                    found.assumptions,
                )
            print(
                f"{name}: {sum(row.passed for row in found.checks)} "
                f"of {len(found.checks)} checks passed{found.note}\n"
            )
            passed &= found.passed
        return int(not passed)


@dataclasses.dataclass(frozen=True)
class Prune:
    """Prune a Llama checkpoint on the calibration windows of a text: per layer the zeros reached
    and the error of its attention, and the perplexity before and after.
    """

    folder: Positional[Annotated[Path, arg(metavar="FOLDER")]]
    """A checkpoint: config.json, safetensors, tokenizer.json."""
    to: Annotated[Path, arg(metavar="FOLDER")]
    """Where the pruned checkpoint goes; must not exist, or be empty."""
    text: Annotated[Path, arg(metavar="PATH")]
    """A UTF-8 file, or a folder of them: the first four fifths calibrate, the rest evaluates."""
    ratio: float = 0.5
    """Share of zeros in each pruned matrix, in [0, 1)."""
    mlp_ratio: float | None = None
    """The same for the MLP; as --ratio by default."""
    attention: str = "gradient"
    """Method for the query and key weights: gradient, wanda, sparsegpt, magnitude or dense."""
    mlp: str = "dense"
    """Method for the MLP: dense, wanda, sparsegpt or magnitude."""
    value_output: str = "dense"
    """Method for the value and output weights: dense, wanda, sparsegpt or magnitude."""
    pattern: Annotated[str | None, arg(metavar="N:M")] = None
    """Keep N of every M consecutive inputs instead of a share."""
    temperature: FlagCreatePairsOff[bool] = False
    """Rescale the logits of each head after pruning."""
    samples: int = 8
    """Calibration windows."""
    window: int = 128
    """Tokens per window."""
    evaluate: int = 128
    """Windows of the last fifth of the text, at most, that measure."""
    key: int = 0
    """Root of the random numbers: which windows calibrate."""

    def __call__(self) -> int:
        from jaxtheory.llama import folder

        given = dataclasses.asdict(self)
        source, to, text = (disk.located(given.pop(name)) for name in ("folder", "to", "text"))
        given["pattern"] = folder.pattern(self.pattern)
        with steps_progress(f"prune {source}") as progress:
            found = folder.prune(source, to, text, progress=progress, **given)
        report = found.report
        errors = ("attention_error", "attention_error_heldout", "regularization")
        table(
            f"{source}: zeros and ||f - f*|| / ||f*|| of the attention",
            ("layer", *report.matrix.values, "error", "held out", "lambda"),
            [
                (i, *map(float, row.sparsity), *(float(row[name]) for name in errors))
                for i, row in ((i, report.sel(layer=i)) for i in report.layer.values)
            ],
        )
        print(f"sparsity    {float(report.sparsity_of_model):.4f} of all weights")
        print(f"perplexity  {found.before:.4f} before, {found.after:.4f} after")
        print(f"checkpoint  {to}")
        return 0


@dataclasses.dataclass(frozen=True)
class Doctor:
    """Versions, devices, number format, caches, directories and figures of this installation. Exit
    code 2 if JAX cannot start.
    """

    repair: FlagCreatePairsOff[bool] = False
    """Remove the programs of the compilation cache that a killed process or a full disk damaged."""

    def __call__(self) -> int:
        from jaxtheory.cli.doctor import facts, repaired, running

        known = [
            ("theories", ", ".join(jaxtheory.theories.names())),
            ("figures", len(jaxtheory.figures.entries())),
        ]
        try:
            found, code = running(), 0
            if self.repair:
                found.append(("repaired", repaired()))
        except jaxtheory.InputError as error:
            found, code = [("jax", str(error))], 2
        table("doctor", ("", ""), facts(RESULTS) + found + known)
        return code


@dataclasses.dataclass(frozen=True)
class New:
    """Write NAME.py, a whole theory in one file that runs, verifies and draws, to be replaced part
    by part (docs/add-your-theory.md).
    """

    name: Positional[Annotated[str, arg(metavar="NAME")]]
    """A Python name; the file is written where you are, and must not exist."""

    def __call__(self) -> int:
        file = Path(f"{self.name}.py")
        if not self.name.isidentifier() or keyword.iskeyword(self.name):
            raise jaxtheory.InputError(
                f"NAME = {self.name!r}: must be a Python name, like my_theory"
            )
        taken = {*jaxtheory.theories.names(), *plugins.offered(plugins.THEORIES)}
        if self.name in taken or file.exists():
            raise jaxtheory.InputError(
                f"{self.name}: there is such a theory or file; choose another"
            )
        if importlib.util.find_spec(self.name):
            raise jaxtheory.InputError(
                f"{self.name}: there is such a module, which {file} would hide; choose another"
            )
        from jaxtheory.system.whole import write

        text = Path(__file__).with_name("template.py").read_text(encoding="utf-8")
        write(file, text.replace('name="template"', f'name="{self.name}"'))
        print(f"{file}: try jaxtheory verify {file}, then jaxtheory run {file}")
        return 0


# --------------------------------------------------------------------------------------------- main

_Command = (
    Annotated[List, subcommand("list")]
    | Annotated[Show, subcommand("show")]
    | Annotated[Run, subcommand("run")]
    | Annotated[Report, subcommand("report")]
    | Annotated[Sweep, subcommand("sweep")]
    | Annotated[Export, subcommand("export")]
    | Annotated[Plan, subcommand("plan")]
    | Annotated[Verify, subcommand("verify")]
    | Annotated[Prune, subcommand("prune")]
    | Annotated[New, subcommand("new")]
    | Annotated[Doctor, subcommand("doctor")]
)


_WITHOUT_JAX = (List, New, Report, Export, Doctor)  # Doctor reports a JAX that cannot start


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    mend_streams()
    return flush(_code(list(sys.argv[1:] if argv is None else argv)))


def _code(words: list[str]) -> int:
    """The exit code of a command, after a line on stderr where it is neither 0 nor 1."""
    try:
        command = tyro.cli(
            _Command,
            prog="jaxtheory",
            description="A laboratory for transformer learning theory.",
            args=words,
        )
        return command() if isinstance(command, _WITHOUT_JAX) else computes(command)()
    except SystemExit as stop:  # help, or arguments that do not parse
        return int(stop.code or 0)
    except KeyboardInterrupt:
        resumes = words[:1] in (["run"], ["sweep"], ["prune"])
        say(
            f"interrupted; resume with: jaxtheory {shlex.join(words)}" if resumes else "interrupted"
        )
        return 130
    except BrokenPipeError:  # the reader, `| head` for instance, has enough
        return 141
    except jaxtheory.InputError as error:
        say(error)
        return 2
    except Exception as error:
        if not (where := place(error)) and not isinstance(error, OSError):
            raise
        say(f"{line(error)}{where}")
        return 2


def entry() -> None:
    """The command as a process, which ends at once: to free all that it imported and compiled takes
    Python .4 s, and threads that still compute when it is interrupted would abort it.
    """
    os.environ["MPLBACKEND"] = "agg"  # figures are files: a notebook's backend is of no use here
    gc.set_threshold(100_000)  # imports and traces make what stays: a tenth of a short sweep
    code = main()
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    entry()
