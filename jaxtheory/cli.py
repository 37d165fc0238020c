"""The command line: `jaxtheory list | show | run | sweep | plan | verify | prune | new | doctor`.
The only place that prints.

Exit codes: 0 done, 1 a claim or a check failed, 2 bad input (nothing is written), 130 interrupted
(the store can be resumed). JAX and all that rests on it load when a command needs them, so that
`--help` does not wait.
"""

import dataclasses
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
from jaxtheory.arguments import Words, load_theory, named_figures
from jaxtheory.core import installed
from jaxtheory.core.errors import line, place, tried
from jaxtheory.machines import Machines
from jaxtheory.terminal import steps_progress, sweep_progress, table

if TYPE_CHECKING:
    from jaxtheory.core.config import Config
    from jaxtheory.core.theory import Theory
    from jaxtheory.engine.claims import Figure, Judged

RESULTS = Path("results")


def _store(
    folder: Path, name: str, theory: "Theory", config: "Config", asked: dict[str, Any]
) -> Path:
    """FOLDER/<name>-<hash of all that determines the numbers>; an edited theory starts anew."""
    from jaxtheory.engine.identity import fingerprint, identity
    from jaxtheory.engine.request import read

    return folder / f"{name}-{fingerprint(identity(read(theory, config, **asked)))}"


def _remark(theory: "Theory", config: "Config", asked: dict[str, Any]) -> None:
    """Say why sizes do not share programs, where they could."""
    from jaxtheory.engine.layout import remark
    from jaxtheory.engine.request import read

    if said := remark(read(theory, config, **asked)):
        print(f"sizes     {said}")


# ----------------------------------------------------------------------------------------- commands


def _figure_store(folder: Path, figure: "Figure", quick: bool, key: int) -> Path:
    """Where the sweep of a figure lies; an experiment names its own place in the folder."""
    config, asked = jaxtheory.claims.arguments(figure, quick)
    if figure.theory is None:
        return folder
    return _store(folder, figure.name, figure.theory, config, {**asked, "key": key})


@dataclasses.dataclass(frozen=True)
class List:
    """The theories and the figures."""

    def __call__(self) -> int:
        ours = [
            (name, "jaxtheory", jaxtheory.theories.question(name))
            for name in jaxtheory.theories.names()
        ]
        others = {
            group: [
                (name, installed.package(entry), installed.question(entry))
                for name, entry in installed.offered(group).items()
            ]
            for group in (installed.THEORIES, installed.FIGURES)
        }
        table("theories", ("name", "from", "question"), ours + others[installed.THEORIES])
        figures = [*jaxtheory.figures.entries().values(), *others[installed.FIGURES]]
        table("figures", ("name", "theory or package", "question"), figures)
        return 0


def _about(theory: "Theory") -> str:
    """What the room (or file) that a theory lives in says of itself."""
    from jaxtheory.core.files import question

    module = theory.Config.__module__
    package = sys.modules.get(module.rpartition(".")[0])
    home = package if getattr(package, "__file__", None) else sys.modules[module]
    return question(Path(str(home.__file__)))


@dataclasses.dataclass(frozen=True)
class Show:
    """A theory's fields, algorithms, metrics, checks and figures; or a figure's sweep
    and claims.
    """

    name: Positional[Annotated[str, arg(metavar="NAME")]]
    """Theory, FILE.py, figure or all."""

    def __call__(self) -> int:
        theories = {*jaxtheory.theories.names(), *installed.offered(installed.THEORIES)}
        if self.name in theories or self.name.endswith(".py"):
            theory = load_theory(self.name)
            _show_theory(theory)
            figures = [
                jaxtheory.figures.get(entry.name)
                for entry in jaxtheory.figures.entries().values()
                if entry.theory == theory.name
            ]
        else:
            figures = named_figures(self.name)
        for figure in figures:
            print(
                f"figure {figure.name}: {figure.source}\n  sweep {figure.sweep}\n  quick "
                f"{figure.quick}"
            )
            table(
                "",
                ("claim", "origin", "source", "expected", "statement"),
                [(c.id, c.origin, c.source, c.expected, c.statement) for c in figure.claims],
            )
        return 0


def _show_theory(theory: "Theory") -> None:
    from jaxtheory.core.config import Interval, fields
    from jaxtheory.core.theory import outputs

    print(f"{theory.name}: {_about(theory)}")
    rows = []
    for f in fields(theory.Config).values():
        valid = str(f.valid) if isinstance(f.valid, Interval) else ", ".join(map(str, f.valid))
        rows.append(
            (f.name, f.symbol, f.kind, str(f.default), f"{valid} {f.unit}".strip(), f.meaning)
        )
    table("fields", ("word", "symbol", "kind", "default", "range", "meaning"), rows)
    print(f"algorithms: {', '.join(theory.algorithms)} (the first is the default)")
    for title, names in tried(theory.name, outputs, theory).items():
        print(f"{title}: {', '.join(names) or 'none'}")
    table(
        "checks",
        ("check", "source", "kind", "tolerance"),
        [(c.name, c.source, c.kind, c.tolerance) for c in theory.checks],
    )


@dataclasses.dataclass(frozen=True)
class Run:
    """Sweep, judge and draw figures. Exit code 1 if a verdict differs from the expected one."""

    name: Positional[Annotated[str, arg(metavar="NAME")]]
    """Figure, theory (all its figures), FILE.py that defines FIGURES, or all."""
    quick: FlagCreatePairsOff[bool] = False
    """The short form: fewer seeds and points; claims that need more are not tested."""
    key: int = 0
    """Root of all random numbers."""
    store: Annotated[Path, arg(metavar="DIR")] = RESULTS
    """Directory for the datasets and the drawings."""

    def __call__(self) -> int:
        figures = named_figures(self.name)
        summary, failed = [], False
        for figure in figures:
            quick, key = "-quick" * self.quick, f"-key{self.key}" if self.key else ""
            show = steps_progress if figure.experiment else sweep_progress
            store = _figure_store(self.store, figure, self.quick, self.key)
            with show(figure.name) as progress:
                result = jaxtheory.claims.run_figure(
                    figure, key=self.key, quick=self.quick, store=store, progress=progress
                )
            image = self.store / f"{figure.name}{quick}{key}.png"
            jaxtheory.claims.keep_drawing(image, result)
            columns = (
                *("claim", "origin", "source", "expected"),
                *("measured", "threshold", "n", "verdict", ""),
            )
            table(f"{figure.name}: {figure.source}", columns, map(_verdict, result.verdicts))
            jaxtheory.claims.keep_verdicts(image.with_suffix(".json"), result)
            print(f"  figure {image}\n  data   {result.store}\n")
            outcomes = [judged.outcome for judged in result.verdicts]
            summary.append((figure.name, *(outcomes.count(outcome) for outcome in OUTCOMES), image))
            failed |= "differs" in outcomes
        table("summary", ("figure", *OUTCOMES, "drawing"), summary)
        return int(failed)


OUTCOMES = ("as expected", "differs", "open", "not tested")


def _verdict(judged: "Judged") -> tuple:
    claim, verdict, _ = judged
    found = ("", "", "") if verdict is None else (verdict.measured, verdict.threshold, verdict.n)
    outcome = "" if verdict is None else judged.outcome
    return claim.id, claim.origin, claim.source, claim.expected, *found, judged.finding, outcome


@dataclasses.dataclass(frozen=True)
class Sweep(Machines, Words):
    """Train at every point of the axes and write one labelled dataset. The same command resumes.

    Values: a list 1,2,3; a:b:n (linear) or log:a:b:n, both ends included.
    """

    store: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory of the results; results/<theory>-<hash of the request> by default."""

    def __call__(self) -> int:
        asked = self.asked()
        theory, config = asked.pop("theory"), asked.pop("config")
        store = self.store or _store(RESULTS, theory.name, theory, config, asked)
        _remark(theory, config, asked)
        with self.opened() as where, sweep_progress(theory.name) as progress:
            data = jaxtheory.sweep(theory, config, **asked, **where, store=store, progress=progress)
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
        from jaxtheory.engine.verify import verify_each, worst

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
        source, to, text = (given.pop(name) for name in ("folder", "to", "text"))
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
    """What this installation runs on: versions, devices, number format, caches, directories,
    figures.
    """

    def __call__(self) -> int:
        from jaxtheory.engine.installation import facts

        known = [
            ("theories", ", ".join(jaxtheory.theories.names())),
            ("figures", len(jaxtheory.figures.entries())),
        ]
        table("doctor", ("", ""), facts(RESULTS) + known)
        return 0


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
        taken = {*jaxtheory.theories.names(), *installed.offered(installed.THEORIES)}
        if self.name in taken or file.exists():
            raise jaxtheory.InputError(
                f"{self.name}: there is such a theory or file; choose another"
            )
        if importlib.util.find_spec(self.name):
            raise jaxtheory.InputError(
                f"{self.name}: there is such a module, which {file} would hide; choose another"
            )
        text = Path(__file__).with_name("template.py").read_text()
        try:
            file.write_text(text.replace('name="template"', f'name="{self.name}"'))
        except OSError as error:
            raise jaxtheory.InputError(f"{file}: {error.strerror}; choose another folder") from None
        print(f"{file}: try jaxtheory verify {file}, then jaxtheory run {file}")
        return 0


# --------------------------------------------------------------------------------------------- main

Command = (
    Annotated[List, subcommand("list")]
    | Annotated[Show, subcommand("show")]
    | Annotated[Run, subcommand("run")]
    | Annotated[Sweep, subcommand("sweep")]
    | Annotated[Plan, subcommand("plan")]
    | Annotated[Verify, subcommand("verify")]
    | Annotated[Prune, subcommand("prune")]
    | Annotated[New, subcommand("new")]
    | Annotated[Doctor, subcommand("doctor")]
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        command = tyro.cli(
            Command,
            prog="jaxtheory",
            description="A laboratory for transformer learning theory.",
            args=words,
        )
        return command()
    except SystemExit as stop:  # help, or arguments that do not parse
        return int(stop.code or 0)
    except KeyboardInterrupt:
        resumes = words[:1] in (["run"], ["sweep"], ["prune"])
        print(
            f"interrupted; resume with: jaxtheory {shlex.join(words)}"
            if resumes
            else "interrupted",
            file=sys.stderr,
        )
        return 130
    except BrokenPipeError:  # the reader, `| head` for instance, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except jaxtheory.InputError as error:
        print(error, file=sys.stderr)
        return 2
    except Exception as error:
        if not (where := place(error)) and not isinstance(error, OSError):
            raise
        print(f"{line(error)}{where}", file=sys.stderr)
        return 2


def entry() -> None:
    """The command as a process. One that was interrupted ends at once: threads that still compute
    would abort it while Python shuts down.
    """
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    if code == 130:
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    entry()
