"""Run a theory's checks on its examples with random values of the traced fields, in float64."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.code import traces
from jaxtheory.core import contract
from jaxtheory.core.check_theory import check_theory
from jaxtheory.core.config import Config, Size, canonical, fields
from jaxtheory.core.contract import ships
from jaxtheory.core.fields import Interval
from jaxtheory.core.resolve import theory_of
from jaxtheory.core.theory import Check, Theory, is_exact
from jaxtheory.core.validation import validate
from jaxtheory.engine.execution.processes import count_processes, in_processes
from jaxtheory.engine.planning.padding import trust
from jaxtheory.engine.request.current import find_fault
from jaxtheory.engine.request.observed import METHODS
from jaxtheory.engine.request.settings import carry_settings, compiler_options, numerics
from jaxtheory.ops.draws import run_key
from jaxtheory.system.backend import computes, workers
from jaxtheory.texts.errors import InputError, tried
from jaxtheory.verification import (
    constant_keys,
    idle_fields,
    padding,
    purity,
    theory_gradient,
)
from jaxtheory.verification.table import AssumptionRow, CheckRow, Table

_STANDARD_ERRORS = 5.0  # largest difference that a check of kind "sample" accepts
_PARTS = 4  # shares of a theory's checks, which run in separate processes


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
    beyond their arguments), its draws for keys that ignore the run (the same numbers for all
    seeds), and its numbers for a dependence on padding, unless it is a network, which is never
    padded.

    The error of a check is, by its kind, "equal": max |got - want| / max |want| per array; "bound":
    (got - want) / |want|, negative where the bound holds; "sample": |got - want| in standard
    errors, at most 5. A number that is not finite fails, and so does a check that applies to no
    example.

    Args:
        theory: A theory as a record (`jaxtheory.Theory`), as a module that defines `THEORY`, by
            name, or as the path of a Python file.
        seeds: The number of random variations of each example, at least 1.
        only: The names of the checks to run. None runs all checks and the further tests.

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
    theory = cast(Theory, theory_of(theory))
    check_theory(theory)
    if unknown := sorted({*(only or ())} - {check.name for check in theory.checks}):
        raise InputError(f"only = {unknown[0]!r}: {theory.name} has no such check")
    if not isinstance(seeds, int) or seeds < 1:
        raise InputError(f"seeds = {seeds!r}: must be an integer in [1, inf)")
    if not theory.examples:
        raise InputError(
            f"{theory.name} has no examples to run its checks on; give the theory "
            f"examples=({theory.Config.__name__}(),)"
        )
    with traces.under(traces.code_of(theory)):
        return _verified(theory, seeds, only)


def _verified(theory: Theory, seeds: int, only: Sequence[str] | None) -> Table:
    """Return the result of `verify` for a theory that has examples."""
    with numerics("float64") as dtype:
        for i, example in enumerate(theory.examples):
            try:
                validate(example)
            except InputError as error:
                raise InputError(f"{theory.name}.examples[{i}]: {error}") from None
            contract.require_contract(theory, canonical(example, dtype), methods=METHODS)
    rows: list[CheckRow] = []
    checks = [check for check in theory.checks if only is None or check.name in only]
    outside = only is None and not ships(theory)
    pure = _purity_rows(theory) if outside else []  # first, as its errors name the slot that fails
    with (
        numerics("float64") as dtype,
        ThreadPoolExecutor(max(workers() - 1, 1)) as pool,  # fewer than JAX has, see `jaxprs`
    ):  # compilation dominates, and runs in parallel
        examples = [vary_config(theory, e, i, seeds, dtype) for i, e in enumerate(theory.examples)]
        _require_trained(theory, examples)
        run_check, gradient_row = carry_settings(_run_check), carry_settings(_gradient_row)
        jobs = [
            [pool.submit(run_check, check, i, example) for i, example in enumerate(examples)]
            for check in checks
        ]
        gradient_jobs = [
            pool.submit(gradient_row, theory, i, example)
            for i, example in enumerate(examples if outside else ())
        ]
        for check, results in zip(checks, jobs, strict=True):
            rows_of_check = [row for job in results if (row := job.result()) is not None]
            rows += rows_of_check or [
                CheckRow(
                    *(-1, check.name, check.source, check.kind, np.nan, check.tolerance, False),
                    "applies to no example",
                )
            ]
        rows += [job.result() for job in gradient_jobs]
    assumptions = _assess_examples(theory) if only is None else []
    if outside:
        rows += [*pure, *_key_rows(theory), *_field_rows(theory)]
        rows += () if is_exact(theory) else _padding_rows(theory)
    return Table(rows, assumptions, "" if theory.checks else "; the theory defines no checks")


def _require_trained(theory: Theory, examples: Sequence[Config]) -> None:
    """Raise InputError where an algorithm was made for other functions than the theory has now.

    If the new gradient of the theory is wrong, the rows of the table report that instead.
    """
    fault = find_fault(theory, theory.algorithms)
    if fault is None:
        return
    rows = (_gradient_row(theory, i, e) for i, e in enumerate(examples))
    if fault.slot != "gradient" or all(row.passed for row in rows):
        raise InputError(fault.words)


def _gradient_row(theory: Theory, index: int, varied: Config) -> CheckRow:
    """Compare the `gradient` of a theory with autodiff of its loss on an example."""
    slot = theory_gradient.compare_slot(theory, varied)
    return CheckRow(
        *(index, "gradient", "autodiff of loss", "equal"),
        *(slot.error, theory_gradient.TOLERANCE, slot.agrees, slot.diagnosis),
    )


def _purity_rows(theory: Theory) -> list[CheckRow]:
    """Return a failed row for each value read beyond the config, or one row that passes."""
    faults = [
        (read.name, f"{', '.join(read.slots)}: {read.why}; {purity.HINT}")
        for read in purity.find_hidden_reads(theory)
    ]
    return _fault_rows(purity.TITLE, "code, and two traces", faults)


def _key_rows(theory: Theory) -> list[CheckRow]:
    """Return a failed row for each draw that ignores the key of the run, or one that passes."""
    faults = [
        (draw.slot, f"{draw.why}; its numbers are the same for all seeds; {constant_keys.HINT}")
        for draw in constant_keys.find_constant_draws(theory)
    ]
    return _fault_rows(constant_keys.TITLE, "programs, and code", faults)


def _fault_rows(title: str, source: str, faults: list[tuple[str, str]]) -> list[CheckRow]:
    """Return a failed row for each fault, which is a name and a reason, or one row that passes."""
    row = CheckRow(-1, title, source, "equal", 0.0, 0.0, True)
    return [
        row._replace(check=f"{title}: {name}", error=np.inf, passed=False, where=reason)
        for name, reason in faults
    ] or [row]


def _field_rows(theory: Theory) -> list[CheckRow]:
    """Return a row for each field of Config without the effect that its kind promises."""
    return [
        CheckRow(
            *(-1, field.words, "traced programs", "equal"),
            *(np.inf if field.hint else 0.0, 0.0, not field.hint, field.hint),
        )
        for field in idle_fields.find_idle_fields(theory)
    ]


def _padding_rows(theory: Theory) -> list[CheckRow]:
    """Return a row per slot on the dependence of its numbers on padding.

    A theory that passes may be padded by `buckets="auto"`.
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
        for row in padding.compare_padded(theory, example)
    ]
    if rows and all(row.passed for row in rows):
        trust(theory)
    return rows


def verify_each(
    load: Callable[[str], Theory], names: Sequence[str], seeds: int
) -> Iterator[tuple[str, Table]]:
    """Yield (name, result of `verify`) for theories by name, in their order.

    load: a function of a module (so that it can be pickled) that returns a theory by its name.

    On CPU there is a process per core, as tracing holds Python's global lock, and each theory is
    split into up to _PARTS shares. The last theories start first, as these have the most checks
    among those that ship; no theory is imported to find that out. A theory that does not ship is
    the only one, has few checks and runs in this process.
    """
    parts = count_processes(_PARTS)
    if parts < 2 or (len(names) == 1 and not ships(load(names[0]))):
        yield from ((name, verify(load(name), seeds=seeds)) for name in names)
        return
    jobs = [(load, name, seeds, part, parts) for name in names for part in range(parts)]
    results = in_processes(_verify_part, jobs, range(len(jobs))[::-1])
    for name, *tables in zip(names, *[results] * parts, strict=True):
        yield name, tables[0]._replace(checks=[row for table in tables for row in table.checks])


def _verify_part(
    load: Callable[[str], Theory], name: str, seeds: int, part: int, parts: int
) -> Table:
    """Run one of `parts` equal shares of a theory's checks; the first includes assumptions."""
    theory = load(name)
    n = len(theory.checks)
    share = theory.checks[n * part // parts : n * (part + 1) // parts]
    table = verify(theory, seeds=seeds, only=[check.name for check in share])
    return table if part else table._replace(assumptions=_assess_examples(theory))


def vary_config(theory: Theory, example: Config, index: int, seeds: int, dtype: Any) -> Config:
    """Stack `seeds` copies of an example along a leading axis, all but the first varied.

    The first copy is the example itself. In the others each real field is multiplied by
    2^U(-1, 1), within its range. Zeros, integers and values at an end of their range do not change.
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
    """Return the worst of the variations, or None where the check does not apply.

    One program runs on the variations one after the other: tracing and lowering it over all of them
    at once would take longer than these runs.
    """
    leaves = jax.tree.leaves(varied)
    n = len(leaves[0]) if leaves else 1
    random = np.random.default_rng([zlib.crc32(check.name.encode()), index])
    with numerics("float64"):  # settings of this thread
        data = random.integers(2**32, size=(n, 4), dtype=np.uint32)
        # rbg compiles several times faster than threefry
        keys = jax.random.wrap_key_data(jnp.asarray(data), impl="rbg")
        at = [(keys[i], jax.tree.map(lambda x, i=i: x[i], varied)) for i in range(n)]
        traced = tried(f"check {check.name!r}", jax.jit(partial(check.fn)).trace, *at[0])
        if traced.out_info is None:
            return None
        _require_pair(check, traced.out_info)
        program = traced.lower().compile(compiler_options(level=0))
        runs = jax.device_get([program(*arguments) for arguments in at])
    parts = jax.tree.map(lambda *leaves: np.stack(leaves), *runs)
    error, tolerance, passed = _judge(check, *parts)
    return CheckRow(
        *(index, check.name, check.source, check.kind),
        *(error, tolerance, passed),
        "" if passed else _differs_most(*parts[:2]),
    )


def _require_pair(check: Check, out: Any) -> None:
    """Raise InputError unless a check returns (got, want) or (got, want, standard error).

    All parts must have the same number of arrays.
    """
    parts = "(got, want, standard error)" if check.kind == "sample" else "(got, want)"
    if not isinstance(out, tuple) or len(out) != parts.count(",") + 1:
        raise InputError(f"check {check.name!r} returns a {type(out).__name__}, expected {parts}")
    counts = [len(jax.tree.leaves(part)) for part in out]
    if len({*counts}) > 1:
        raise InputError(
            f"check {check.name!r}: {parts} have {counts} arrays, expected the same number in each"
        )


def _differs_most(got: Any, want: Any) -> str:
    """Describe the array and index at which two trees differ most, with got, want and ratio."""
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
    """Return (error, tolerance, passed) over the leading axis of variations."""
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
                difference = gap if scale == 0 else gap / scale
            elif check.kind == "bound":
                difference = np.max(
                    (g[i] - w[i]) / np.where(w[i] == 0, 1, np.abs(w[i])), initial=-np.inf
                )
            else:
                spread = np.asarray(e, float)[i]
                gap = np.abs(g[i] - w[i])
                difference = np.max(
                    np.where(
                        spread > 0,
                        gap / np.where(spread > 0, spread, 1),
                        np.where(gap <= 1e-11, 0, np.inf),
                    ),
                    initial=0.0,
                )
            if not np.all(np.isfinite(g[i])) or not np.all(np.isfinite(w[i])):
                difference = np.inf
            worst = max(worst, float(difference))
    return worst, tolerance, bool(worst <= tolerance)


def _assess_examples(theory: Theory) -> list[AssumptionRow]:
    """Evaluate the source's conditions on the problem of every example."""
    with numerics("float64") as dtype:
        return [
            row
            for i, example in enumerate(theory.examples)
            for row in assess(theory, i, canonical(example, dtype))
        ]


def assess(theory: Theory, index: int, config: Config) -> list[AssumptionRow]:
    """Evaluate the source's conditions on the problem of one example."""
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
    conditions = jax.jit(
        lambda key, config: theory.assumptions(theory.problem(key, config), config),
        compiler_options=compiler_options(level=0),
    )(run_key(0, 0), config)
    return [
        AssumptionRow(index, name, bool(np.asarray(holds)), float(np.asarray(margin)))
        for name, (holds, margin) in conditions.items()
    ]


def worst(rows: Sequence[CheckRow]) -> list[CheckRow]:
    """Return the failed rows of each check, or else its row with the largest error."""
    by_check: dict[str, list[CheckRow]] = {}
    for row in rows:
        by_check.setdefault(row.check, []).append(row)
    selected = []
    for group in by_check.values():
        failed = [row for row in group if not row.passed]
        selected += failed or [max(group, key=lambda row: row.error)]
    return selected
