"""`make bench ARGS=--profile`: how the seconds of one warm sweep divide into its parts.

Every compiled function of the sweep is waited for, and the clock of a part stops while another part
runs within it, so that parts add up to the sweep. Seconds of a worker count as seconds divided by
the number of workers; "idle" is what workers wait for each other. Of the training loop, four parts
are measured afterwards with as many workers at once: "dispatch" is calls that do nothing, "metrics"
calls that make no step, "batches" a loop that draws batches and sums them up, and "step" is the
rest. "Python" is the rest of the code of chunks, and "set-up" the request, its identity and its
plan.

With --cpu all of it is in CPU seconds of the process with one worker, which other processes disturb
less.

The second floor is that of products.py.
"""

import collections
import contextlib
import functools
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks import floor, products, table, timing
from benchmarks.products import Call, first, follow, made_by, time_call

from jaxtheory.engine import sweep
from jaxtheory.engine.compute import compiled, program, training
from jaxtheory.engine.execution import chunk_task, local
from jaxtheory.engine.results import computing

MARKS = ("<!-- profile -->", "<!-- /profile -->")
ROUNDS = 3  # the fastest is shown
PARTS = {
    "set-up": [(sweep, name) for name in ("read", "identity", "describe", "plan_request")],
    "problems": ["_draw"],
    "start": ["_begin"],
    "batches": [],
    "step": ["_train"],
    "dispatch": [],
    "metrics": [],
    "baselines": ["_baselines"],
    "predictions": ["_predict"],
    "analyses": ["_evaluate analyses"],
    "transfer": [(jax, "device_get"), (jax, "device_put")],
    "records": [(training._Recorded, "put"), (training, "_with_baselines")],
    "Python": [(chunk_task, "run_chunk")],
    "assembly": [(sweep, "assemble"), (local, "pick")],
    "idle": [(local, "wait")],
}
LOOPS = ("while", "call", "conditional")  # which hold the kernels
FLOORS = ("floor / sweep", "second floor / sweep")
HEAD = ("theory", "sweep ms", "(CPU)", "sum", *PARTS, *FLOORS, "kernels that take longest")


class Clock:
    """Seconds of parts [thread, part]. A part's time stops while another one runs within it."""

    def __init__(self) -> None:
        self.own = threading.local()
        self.seconds = collections.Counter[tuple[int, str]]()

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        stack = self.own.__dict__.setdefault("stack", [])
        self._turn(stack)
        stack.append(name)
        try:
            yield
        finally:
            self._turn(stack)
            stack.pop()

    def _turn(self, stack: list[str]) -> None:
        now = floor.clock()
        if stack:
            self.seconds[threading.get_ident(), stack[-1]] += now - self.own.last
        self.own.last = now

    def timed(self, name: str, function: Callable) -> Callable:
        @functools.wraps(function)
        def run(*args: Any, **options: Any) -> Any:
            with self.part(name):
                return function(*args, **options)

        return run

    def parts(self, workers: int) -> dict[str, float]:
        """Seconds of each part as the calling thread sees them: its own, and those of the workers
        divided by their number in place of the time that it waits for them.
        """
        totals = dict.fromkeys(PARTS, 0.0)
        for (thread, name), seconds in self.seconds.items():
            if thread == threading.get_ident():
                totals[name] += seconds
            else:
                totals[name] += seconds / workers
                totals["idle"] -= seconds / workers
        return totals


class Profile(NamedTuple):
    """A sweep: seconds and `other_seconds`, CPU seconds, without a clock (with --cpu the other way
    around), seconds of its parts, both floors (None if its work was not counted), and the kernels
    of step and metrics that take longest, with their share.
    """

    theory: str
    setting: str
    seconds: float
    other_seconds: float
    parts: dict[str, float]
    floors: tuple[float, float] | None
    kernels: dict[str, float]


def label(function: Any) -> str:
    """The name of a compiled function, as in PARTS."""
    partial = function.function.__wrapped__
    return " ".join([partial.func.__name__, *(arg for arg in partial.args if isinstance(arg, str))])


def clocked(run: Callable[[], Any]) -> tuple[float, dict[str, float], dict[Any, Call]]:
    """Seconds of a sweep with a clock, those of its parts, and the calls of training loops."""
    clock, calls = Clock(), {}
    names = {member: name for name, members in PARTS.items() for member in members}
    plain = compiled.Compiled.run

    def waited(self: Any, *args: Any) -> Any:
        name = label(self)
        if name == "_train":
            *_, used, turns = args
            count = int(turns.count)
            steps = int(used) * int((turns.end - turns.start)[:count].sum())
            call = calls.get(self, Call(args, 0, 0, 0))
            calls[self] = Call(call.args, call.count + 1, call.turns + count, call.steps + steps)
        with clock.part(names[name]):
            return jax.block_until_ready(plain(self, *args))

    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch.object(computing, "_replaced", dict))  # changes no bits
        patches.enter_context(mock.patch.object(compiled.Compiled, "run", waited))
        for where, name in (member for member in names if isinstance(member, tuple)):
            timed = clock.timed(names[where, name], getattr(where, name))
            patches.enter_context(mock.patch.object(where, name, timed))
        begun = floor.clock()
        with clock.part("set-up"):
            run()
        return floor.clock() - begun, clock.parts(floor.cores()), calls


def divide(parts: dict[str, float], calls: dict[Any, Call]) -> dict[str, float]:
    """Parts in which dispatch and batches are apart from the step."""
    totals = dict(parts)
    for function, call in calls.items():
        *arguments, turns = call.args
        still = turns._replace(end=turns.start)
        none, single = (
            time_call(
                functools.partial(function.run, *arguments, still._replace(count=np.int32(n)))
            )
            for n in (0, 1)
        )
        totals["dispatch"] += call.count * none
        totals["metrics"] += call.turns * max(0.0, single - none)
        if (draw := drawing(function, call)) is not None:
            steps = min(call.steps, 50)
            some = program.Turns(*np.array([[0], [steps], [0]], np.int32), np.int32(1))
            seconds = time_call(functools.partial(draw, *arguments, some))
            totals["batches"] += call.steps * max(0.0, seconds - none) / (steps * int(call.args[3]))
    totals["step"] -= totals["dispatch"] + totals["metrics"] + totals["batches"]
    return totals


def drawing(function: Any, call: Call) -> Callable | None:
    """A training loop that draws batches and adds nothing of them; None if none are drawn."""
    owner, (row, run, _) = made_by(function), program._first(first(call))
    values = program._first(program._first(run.values))
    config = owner.config(row.fields, program._first(run.fields), values)
    sample = jax.make_jaxpr(lambda key: owner.sample(key, row.problem, config))
    sampled = sample(jax.random.key(0)).jaxpr
    if not follow(sampled, set(sampled.invars), collections.Counter()):
        return None

    def step(key: Any, t: Any, state: Any, batch: Any, problem: Any, config: Any) -> Any:
        nothing = 0.0 * sum(jnp.sum(leaf, dtype=float) for leaf in jax.tree.leaves(batch))
        add = lambda x: x + nothing.astype(x.dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x
        return jax.tree.map(add, state)

    bare = owner._replace(algorithm=owner.algorithm._replace(step=step))
    return jax.jit(functools.partial(bare._train, 1, (frozenset(),)))


def kernels(run: Callable[[], Any]) -> dict[str, float]:
    """The three kernels of step and metrics that take longest, with their share of the seconds."""
    durations = collections.Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        with jax.profiler.trace(folder, profiler_options=options):
            run()
        file = next(Path(folder).rglob("*.xplane.pb"))
        for plane in jax.profiler.ProfileData.from_file(str(file)).planes:
            for event in (event for line in plane.lines for event in line.events):
                facts = {name: value for name, value in event.stats if isinstance(value, str)}
                name = facts.get("hlo_op", "while")
                if facts.get("hlo_module") == "jit__train" and not name.startswith(LOOPS):
                    durations[name] += event.duration_ns
    return {name: value / durations.total() for name, value in durations.most_common(3)}


def measured(theory: str, setting: str, run: Callable[[], Any], work: Any) -> Profile:
    """The profile of a sweep, after a first one that compiles."""
    run()
    order = -1 if floor.clock is time.process_time else 1
    plain = min(timing.once(run)[::order] for _ in range(ROUNDS))
    _, parts, calls = min((clocked(run) for _ in range(ROUNDS)), key=lambda outcome: outcome[0])
    floors = (floor.seconds(work), products.seconds(work, calls)) if work else None
    return Profile(theory, setting, *plain, divide(parts, calls), floors, kernels(run))


def records(groups: Iterable[table.Group]) -> list[dict[str, Any]]:
    """The profiles of the sweeps of some groups, for JSON."""
    entries = []
    for group in groups:
        if "sweep" in group.sides:
            run = group.sides["sweep"].run
            profile = measured(group.theory, group.setting, run, group.work.get("sweep"))
            print(" | ".join([profile.theory, *cells(profile)]), file=sys.stderr, flush=True)
            entries.append(profile._asdict())
    return entries


def merged(reports: list[dict]) -> list[Profile]:
    """The profiles of several files."""
    return [Profile(**entry) for one in reports for entry in one["profiles"]]


def page(profiles: list[Profile], facts: list[str]) -> str:
    """The table, its settings, and what it was measured on."""
    line = lambda words: f"| {' | '.join(words)} |"
    cpu = any("--cpu" in line for line in facts)
    head = [{"(CPU)": "(wall)"}.get(word, word) if cpu else word for word in HEAD]
    rows = [line(head), line(["---"] * len(HEAD))]
    rows += [
        line([f"{i} {profile.theory}", *cells(profile)]) for i, profile in enumerate(profiles, 1)
    ]
    settings = [
        f"{i}. `{profile.theory}`: {profile.setting}" for i, profile in enumerate(profiles, 1)
    ]
    return "\n".join([*rows, "", *settings, "", "Measured by", "", *(f"- {x}" for x in facts)])


def cells(profile: Profile) -> list[str]:
    """A profile as words: milliseconds, shares of the sweep, and shares of the step."""
    times = (
        profile.seconds,
        profile.other_seconds,
        sum(profile.parts.values()),
        *profile.parts.values(),
    )
    return [
        *(f"{1000 * seconds:.0f}" for seconds in times),
        *(f"{100 * bound / profile.seconds:.2g} %" for bound in profile.floors or ()),
        *([""] * len(FLOORS) if profile.floors is None else []),
        ", ".join(f"{name} {100 * share:.0f} %" for name, share in profile.kernels.items()),
    ]
