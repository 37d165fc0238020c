"""A theory's checks, run over its examples with random values of the traced fields, in float64."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core import contract
from jaxtheory.core.config import Config, Interval, Size, canonical, fields, validate
from jaxtheory.core.contract import check_theory, ships
from jaxtheory.core.errors import InputError, tried
from jaxtheory.core.resolve import theory_of
from jaxtheory.core.theory import Check, Theory
from jaxtheory.engine.execution.processes import count_processes, in_processes
from jaxtheory.engine.planning.padding import trust
from jaxtheory.engine.request.current import find_fault
from jaxtheory.engine.request.settings import compiler_options, numerics
from jaxtheory.ops.draws import run_key
from jaxtheory.system.backend import computes, workers
from jaxtheory.verification import padding, purity, theory_gradient

_STANDARD_ERRORS = 5.0
_PARTS = 4  # of a theory, in processes


class CheckRow(NamedTuple):
    """A check on one example: the worst error over the seeds, in the unit of its tolerance."""

    example: int
    check: str
    source: str
    kind: str
    error: float
    tolerance: float
    passed: bool
    where: str = ""

    @property
    def remark(self) -> str:
        """Where a failed check differs most. How close a bound is to what it bounds: got / want at
        its largest, loose below a half.
        """
        if self.where and not self.passed:
            return self.where
        if self.kind != "bound" or not np.isfinite(self.error):
            return ""
        ratio = 1 + self.error
        return f"reaches {ratio:.2g} of it" if ratio >= 0.5 else f"loose: {max(ratio, 0):.2g} of it"


class AssumptionRow(NamedTuple):
    """A condition of the source on one example: whether it holds, and by how much."""

    example: int
    name: str
    holds: bool
    margin: float


class Table(NamedTuple):
    """What `verify` found."""

    checks: list[CheckRow]
    assumptions: list[AssumptionRow]
    note: str = ""

    @property
    def passed(self) -> bool:
        return bool(self.checks) and all(row.passed for row in self.checks)


@computes
def verify(
    theory: Theory | ModuleType | str | Path,
    *,
    seeds: int = 3,
    only: Sequence[str] | None = None,
) -> Table:
    """Compare the closed forms of a theory with independent derivations, in float64.

    Every check runs on every example of the theory and on random variations of its traced fields. A
    theory that does not ship with jaxtheory is tested further: its slot `gradient` against
    automatic differentiation of its loss, its functions for hidden state (values that they read
    beyond their arguments), and its numbers for a dependence on padding.

    The error of a check is, by its kind, "equal": max |got - want| / max |want| per array; "bound":
    (got - want) / |want|, negative where the bound holds; "sample": |got - want| in standard
    errors, at most 5. A number that is not finite fails, and so does a check that applies to no
    example.

    Args:
        theory: A theory as a record (`jaxtheory.Theory`), as a module that defines `THEORY`, by
            name, or as the path of a Python file.
        seeds: The number of random variations of each example, at least 1.
        only: The names of the checks to run; None for all, and the further tests.

    Returns:
        A `Table` with one row per check and example, the assumptions of the source at each example,
        and `passed`.

    Raises:
        InputError: The theory is malformed or has no examples, a name in `only` is unknown, or an
            algorithm was made for another loss, gradient, init, sample or problem than the theory
            holds (a wrong gradient is reported first).

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> name = random_walk.THEORY.checks[0].name
        >>> jaxtheory.verify(random_walk, seeds=1, only=[name]).passed
        True
    """
    theory = theory_of(theory)
    check_theory(theory)
    if unknown := sorted({*(only or ())} - {check.name for check in theory.checks}):
        raise InputError(f"only = {unknown[0]!r}: {theory.name} has no such check")
    if not isinstance(seeds, int) or seeds < 1:
        raise InputError(f"seeds = {seeds!r}: must be an integer in [1, inf)")
    if not theory.examples:
        raise InputError(
            f"{theory.name} has no examples to be checked on; give "
            f"examples=({theory.Config.__name__}(),)"
        )
    with numerics("float64") as dtype:
        for i, example in enumerate(theory.examples):
            try:
                validate(example)
            except InputError as error:
                raise InputError(f"{theory.name}.examples[{i}]: {error}") from None
            contract.require(theory, canonical(example, dtype))
    rows: list[CheckRow] = []
    checks = [check for check in theory.checks if only is None or check.name in only]
    outside = only is None and not ships(theory)
    pure = _purity_rows(theory) if outside else []  # a slot that fails is told of here, by its name
    with (
        numerics("float64") as dtype,
        ThreadPoolExecutor(max(workers() - 1, 1)) as pool,  # see `factors`: fewer than JAX has
    ):  # compilation dominates, and runs in parallel
        examples = [vary_config(theory, e, i, seeds, dtype) for i, e in enumerate(theory.examples)]
        _require_trained(theory, examples)
        jobs = [
            [pool.submit(_run_check, check, i, example) for i, example in enumerate(examples)]
            for check in checks
        ]
        slopes = [
            pool.submit(_gradient_row, theory, i, example)
            for i, example in enumerate(examples if outside else ())
        ]
        for check, results in zip(checks, jobs, strict=True):
            found = [row for job in results if (row := job.result()) is not None]
            rows += found or [
                CheckRow(
                    *(-1, check.name, check.source, check.kind, np.nan, check.tolerance, False),
                    "applies to no example",
                )
            ]
        rows += [job.result() for job in slopes]
    assumptions = _assess_examples(theory) if only is None else []
    if outside:
        rows += [*pure, *_padding_rows(theory)]
    return Table(rows, assumptions, "" if theory.checks else "; the theory states none of its own")


def _require_trained(theory: Theory, examples: Sequence[Config]) -> None:
    """Raise InputError where an algorithm trains what the theory no longer holds; but where its new
    gradient is wrong, that is what the rows have to say.
    """
    fault = find_fault(theory, theory.algorithms)
    if fault is None:
        return
    rows = (_gradient_row(theory, i, e) for i, e in enumerate(examples))
    if fault.slot != "gradient" or all(row.passed for row in rows):
        raise InputError(fault.words)


def _gradient_row(theory: Theory, index: int, varied: Config) -> CheckRow:
    """The slot `gradient` of a theory against autodiff of its loss, on an example."""
    found = theory_gradient.compare(theory, varied)
    return CheckRow(
        *(index, "gradient", "autodiff of loss", "equal"),
        *(found.error, theory_gradient.TOLERANCE, found.agrees, found.diagnosis),
    )


def _purity_rows(theory: Theory) -> list[CheckRow]:
    """What the functions of a theory from outside read beyond the config, a row each, or one row
    that there is no such thing.
    """
    row = CheckRow(-1, purity.TITLE, "code, and two traces", "equal", 0.0, 0.0, True)
    return [
        row._replace(
            check=f"{purity.TITLE}: {read.name}",
            error=np.inf,
            passed=False,
            where=f"{', '.join(read.slots)}: {read.why}; {purity.HINT}",
        )
        for read in purity.compare(theory)
    ] or [row]


def _padding_rows(theory: Theory) -> list[CheckRow]:
    """Whether the numbers of a theory from outside depend on the padding of arrays, slot by slot;
    one that passes may be padded by `buckets="auto"`.
    """
    padded = [
        (i, example)
        for i, example in enumerate(theory.examples)
        if any(field.kind == "size" for field in fields(type(example)).values())
    ]
    rows = [
        CheckRow(
            *(i, f"padding: {row.slot}", "capacities raised", "equal"),
            *(row.error * padding.TOLERANCE, padding.TOLERANCE, row.error <= 1),
            f"{row.entry}: got {row.got:.6g}, want {row.want:.6g}",
        )
        for i, example in padded
        for row in padding.compare(theory, example)
    ]
    if rows and all(row.passed for row in rows):
        trust(theory)
    return rows


def verify_each(
    load: Callable[[str], Theory], names: Sequence[str], seeds: int
) -> Iterator[tuple[str, Table]]:
    """(name, what `verify` finds) of theories that `load` (a function of a module) finds by name,
    in their order.

    On CPU in a process for each core, as tracing holds Python's lock, each theory in up to PARTS.
    The last begin: of the theories that ship they have most to check. None is imported to see that.
    One that does not ship comes alone, has few checks and stays here.
    """
    parts = count_processes(_PARTS)
    if parts < 2 or (len(names) == 1 and not ships(load(names[0]))):
        yield from ((name, verify(load(name), seeds=seeds)) for name in names)
        return
    jobs = [(load, name, seeds, part, parts) for name in names for part in range(parts)]
    found = in_processes(_verify_part, jobs, range(len(jobs))[::-1])
    for name, *tables in zip(names, *[found] * parts, strict=True):
        yield name, tables[0]._replace(checks=[row for table in tables for row in table.checks])


def _verify_part(
    load: Callable[[str], Theory], name: str, seeds: int, part: int, parts: int
) -> Table:
    """One of `parts` equal shares of a theory's checks, and with the first its assumptions."""
    theory = load(name)
    n = len(theory.checks)
    share = theory.checks[n * part // parts : n * (part + 1) // parts]
    table = verify(theory, seeds=seeds, only=[check.name for check in share])
    return table if part else table._replace(assumptions=_assess_examples(theory))


def vary_config(theory: Theory, example: Config, index: int, seeds: int, dtype: Any) -> Config:
    """`seeds` copies of an example stacked along a leading axis: the first as it is, the others
    with each real field times 2^U(-1, 1).

    Zeros, integers, values on a closed end of their range, and evaluation fields at such ends stay;
    values stay within their range.
    """
    random = np.random.default_rng([zlib.crc32(theory.name.encode()), index])
    copies = [canonical(example, dtype)]
    for _ in range(seeds - 1):
        new = {}
        for name, field in fields(type(example)).items():
            value = getattr(example, name)
            if field.kind not in ("traced", "evaluation") or field.integer or value == 0:
                continue
            valid = field.valid
            if not isinstance(valid, Interval) or value in (valid.low, valid.high):
                continue
            for _ in range(100):
                candidate = float(value) * 2 ** random.uniform(-1, 1)
                if candidate in valid:
                    new[name] = candidate
                    break
        copy = canonical(example.replace(**new), dtype)
        validate(copy)
        copies.append(copy)
    return jax.tree.map(lambda *leaves: np.stack(leaves), *copies)


def _run_check(check: Check, index: int, varied: Config) -> CheckRow | None:
    """The worst of the variations, or None where the check does not apply. One program runs on them
    one after the other: to trace and lower it over all at once takes longer than they do.
    """
    leaves = jax.tree.leaves(varied)
    n = len(leaves[0]) if leaves else 1
    random = np.random.default_rng([zlib.crc32(check.name.encode()), index])
    with numerics("float64"):  # of this thread; rbg compiles several times faster than threefry
        data = random.integers(2**32, size=(n, 4), dtype=np.uint32)
        keys = jax.random.wrap_key_data(jnp.asarray(data), impl="rbg")
        at = [(keys[i], jax.tree.map(lambda x, i=i: x[i], varied)) for i in range(n)]
        traced = tried(f"check {check.name!r}", jax.jit(partial(check.fn)).trace, *at[0])
        if traced.out_info is None:
            return None
        _require_pair(check, traced.out_info)
        program = traced.lower().compile(compiler_options(level=0))
        runs = jax.device_get([program(*each) for each in at])
    parts = jax.tree.map(lambda *each: np.stack(each), *runs)
    found = _judge(check, *parts)
    return CheckRow(
        *(index, check.name, check.source, check.kind),
        *found,
        "" if found[-1] else _differs_most(*parts[:2]),
    )


def _require_pair(check: Check, out: Any) -> None:
    """Raise InputError unless a check gives (got, want), or (got, want, standard error), with as
    many arrays in each.
    """
    parts = "(got, want, standard error)" if check.kind == "sample" else "(got, want)"
    if not isinstance(out, tuple) or len(out) != parts.count(",") + 1:
        raise InputError(f"check {check.name!r} gives a {type(out).__name__}, expected {parts}")
    counts = [len(jax.tree.leaves(part)) for part in out]
    if len({*counts}) > 1:
        raise InputError(f"check {check.name!r}: {parts} have {counts} arrays, expected as many")


def _differs_most(got: Any, want: Any) -> str:
    """The array and index at which two trees differ most: got, want and their ratio."""
    worst, words = -1.0, ""
    for (path, g), w in zip(jax.tree.leaves_with_path(got), jax.tree.leaves(want), strict=True):
        g, w = np.asarray(g, float), np.asarray(w, float)
        gap = np.nan_to_num(np.abs(g - w) / max(np.max(np.abs(w), initial=0), 1e-300), nan=np.inf)
        if gap.size and np.max(gap) > worst:
            at = np.unravel_index(np.argmax(gap), gap.shape)
            worst = float(gap[at])
            name = jax.tree_util.keystr(path, simple=True, separator=".") or "value"
            index = f"[{', '.join(map(str, at[1:]))}]" if len(at) > 1 else ""
            ratio = f", ratio {g[at] / w[at]:.6g}" if w[at] else ""
            words = f"{name}{index}: got {g[at]:.6g}, want {w[at]:.6g}{ratio}"
    return words


def _judge(check: Check, got: Any, want: Any, error: Any = None) -> tuple[float, float, bool]:
    """(error, tolerance, passed) over the leading axis of variations."""
    tolerance = _STANDARD_ERRORS if check.kind == "sample" else check.tolerance
    worst = -np.inf
    errors = jax.tree.leaves(error) if error is not None else [None] * len(jax.tree.leaves(got))
    for g, w, e in zip(jax.tree.leaves(got), jax.tree.leaves(want), errors, strict=True):
        g, w = np.asarray(g, float), np.asarray(w, float)
        if g.shape != w.shape:
            raise InputError(f"check {check.name!r}: got shape {g.shape[1:]}, want {w.shape[1:]}")
        for i in range(len(g)):
            if check.kind == "equal":
                scale = np.max(np.abs(w[i]), initial=0.0)
                gap = np.max(np.abs(g[i] - w[i]), initial=0.0)
                found = gap if scale == 0 else gap / scale
            elif check.kind == "bound":
                found = np.max(
                    (g[i] - w[i]) / np.where(w[i] == 0, 1, np.abs(w[i])), initial=-np.inf
                )
            else:
                spread = np.asarray(e, float)[i]
                gap = np.abs(g[i] - w[i])
                found = np.max(
                    np.where(
                        spread > 0,
                        gap / np.where(spread > 0, spread, 1),
                        np.where(gap <= 1e-11, 0, np.inf),
                    ),
                    initial=0.0,
                )
            if not np.all(np.isfinite(g[i])) or not np.all(np.isfinite(w[i])):
                found = np.inf
            worst = max(worst, float(found))
    return worst, tolerance, bool(worst <= tolerance)


def _assess_examples(theory: Theory) -> list[AssumptionRow]:
    """The source's conditions on the problem of every example."""
    with numerics("float64") as dtype:
        return [
            row
            for i, example in enumerate(theory.examples)
            for row in assess(theory, i, canonical(example, dtype))
        ]


def assess(theory: Theory, index: int, config: Config) -> list[AssumptionRow]:
    """The source's conditions on one example's problem."""
    if any(
        isinstance(v, Size) and v.value is not None
        for v in jax.tree.leaves(config, is_leaf=lambda x: isinstance(x, Size))
    ):
        config = config.replace(
            **{
                n: Size(int(getattr(config, n).n))
                for n, f in fields(type(config)).items()
                if f.kind == "size"
            }
        )
    found = jax.jit(
        lambda key, config: theory.assumptions(theory.problem(key, config), config),
        compiler_options=compiler_options(level=0),
    )(run_key(0, 0), config)
    return [
        AssumptionRow(index, name, bool(np.asarray(holds)), float(np.asarray(margin)))
        for name, (holds, margin) in found.items()
    ]


def worst(rows: Sequence[CheckRow]) -> list[CheckRow]:
    """Of each check the failed rows, or else the one with the largest error against
    its tolerance.
    """
    by_check: dict[str, list[CheckRow]] = {}
    for row in rows:
        by_check.setdefault(row.check, []).append(row)
    found = []
    for group in by_check.values():
        failed = [row for row in group if not row.passed]
        found += failed or [max(group, key=lambda row: row.error)]
    return found
