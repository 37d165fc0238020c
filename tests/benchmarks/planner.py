"""`make bench-plan`: what `plan` says of sweeps against what they take, and its choices against the
other ones; one fresh process per number, nothing compiled beforehand.

python tests/benchmarks/planner.py [--only NUMBER ...] [--write]: prints two tables; --write: into
docs/decisions/0050-where-the-time-goes.md.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)
PAGE = HERE.parents[1] / "docs" / "decisions" / "0050-where-the-time-goes.md"
MARKS = ("<!-- plan -->", "<!-- /plan -->")
HEAD = ("sweep", "s", "counted", "measured", "peak MiB", "counted", "measured")
CHOICES = ("sweep", "chosen s", "otherwise s", "chosen / best")


class Case(NamedTuple):
    """A sweep: theory, fields, and the arguments of `jaxtheory.sweep`."""

    theory: str
    fields: dict[str, Any]
    options: dict[str, Any]

    def __str__(self) -> str:
        words = {**self.fields, **self.options}
        return f"`{self.theory}`: " + "; ".join(f"{n} {v}" for n, v in words.items())


def case(theory: str, fields: dict[str, Any] | None = None, **options: Any) -> Case:
    return Case(theory, fields or {}, {"steps": 100, **options})


RATES = [0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0]
CASES = [
    case("random_walk", vary={"learning_rate": RATES}, seeds=8),
    case(
        "random_walk",
        {"num_states": 5, "length": 25, "num_sequences": 20, "encoding_dim": 125},
        seeds=4000,
        steps=50,
        record=[0, 50],
    ),
    case("attention_pruning", vary={"regularization": RATES}, seeds=4, steps=500),
    case("attention_pruning", {"dimension": 16}, vary={"length": [32, 64]}, seeds=64),
    case("contextual_bigram", {"batch_size": 64}, vary={"l1": [1e-6, 1e-5, 1e-4]}, seeds=8),
    case("contextual_bigram", {"length": 4000}, seeds=4, steps=300),
    case("nearest_neighbor", vary={"learning_rate": RATES}, seeds=8, steps=300),
    case("nearest_neighbor", {"num_prompts": 200000, "num_test": 1000}, seeds=2, steps=100),
    case("group_sparse", vary={"learning_rate": RATES}, seeds=32, steps=200),
    case("low_rank", vary={"learning_rate": [0.5, 1.0, 2.0]}, seeds=8),
    case("low_rank", {"num_neurons": 1000}, seeds=4, steps=400),
]
SIZES = [
    case("random_walk", vary={"length": [20, 30, 45, 65, 90, 120]}, seeds=8, steps=200),
    case("contextual_bigram", vary={"length": [250, 500, 1000, 2000]}, seeds=8),
    case("group_sparse", vary={"num_groups": [4, 8, 12, 16]}, seeds=16, steps=400),
    case("nearest_neighbor", vary={"context": [2, 4, 8, 16]}, seeds=8, steps=200),
]


def child(what: str, one: Case, **environment: str) -> dict[str, float]:
    """What `what` of this file prints in a process of its own."""
    command = [sys.executable, __file__, "--child", what, json.dumps(one._asdict())]
    env = {**os.environ, "JAX_ENABLE_COMPILATION_CACHE": "false", **environment}
    costs: dict[str, float] = json.loads(
        subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout
    )
    return costs


def take(one: Case, **environment: str) -> float:
    """Seconds of a sweep."""
    return child("taken", one, **environment)["seconds"]


def predicted(one: Case, compile: bool) -> dict[str, float]:
    """What `plan` says."""
    import jaxtheory

    theory = jaxtheory.theories.get(one.theory)
    plan = jaxtheory.plan(theory, theory.Config(**one.fields), compile=compile, **one.options)
    return {"seconds": plan.seconds, "memory": plan.memory_bytes}


def run_sweep(one: Case) -> dict[str, float]:
    """What the sweep takes, and the peak of its process."""
    import resource
    import time

    import jaxtheory
    from jaxtheory.engine.planning import planner

    planner._CACHE["cpu"] = int(planner._CACHE["cpu"] * float(os.environ.get("CACHE_TIMES", "1")))
    theory = jaxtheory.theories.get(one.theory)
    begun = time.perf_counter()
    jaxtheory.sweep(theory, theory.Config(**one.fields), **one.options)
    took = time.perf_counter() - begun
    return {
        "seconds": took,
        "memory": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


CHILDREN = {
    "counted": lambda one: predicted(one, compile=False),
    "measured": lambda one: predicted(one, compile=True),
    "taken": run_sweep,
}


def estimates(cases: list[Case]) -> list[tuple[str, ...]]:
    """A row per sweep: seconds and memory as taken; what `plan` said over it."""
    rows = []
    for one in cases:
        said = {name: child(name, one) for name in CHILDREN}
        words = [str(one)]
        for number, unit in (("seconds", 1), ("memory", 2**20)):
            real = said["taken"][number]
            words.append(f"{real / unit:.3g}" if unit == 1 else f"{real / unit:.0f}")
            words += [f"{said[name][number] / real:.2f}" for name in ("counted", "measured")]
        rows.append(tuple(words))
        print(*words, sep=" | ", file=sys.stderr, flush=True)
    return rows


def choices(cases: list[Case]) -> list[tuple[str, ...]]:
    """A row per sweep: its seconds as it is planned and otherwise, compilation included. Sizes that
    vary: one program for all, or one each; else: fewer and more lanes side by side, one worker.
    """
    rows = []
    for one in cases:
        chosen, alternatives = take(one), {}
        if one in SIZES:
            for mode in ("pad", "exact"):
                alternatives[mode] = take(one._replace(options={**one.options, "buckets": mode}))
        else:
            for words, times in (("an eighth side by side", 0.125), ("eight times", 8)):
                alternatives[words] = take(one, CACHE_TIMES=str(times))
            alternatives["one worker"] = take(one, JAXTHEORY_DEVICES="1")
        words = (
            str(one),
            f"{chosen:.3g}",
            ", ".join(f"{name} {seconds:.3g}" for name, seconds in alternatives.items()),
            f"{chosen / min(chosen, *alternatives.values()):.2f}",
        )
        rows.append(words)
        print(*words, sep=" | ", file=sys.stderr, flush=True)
    return rows


def markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table for a page."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(words)} |" for words in lines)


def main() -> int:
    """The tables on stdout."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", type=int, metavar="NUMBER")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        what, one = options.child
        print(json.dumps(CHILDREN[what](Case(**json.loads(one)))))
        return 0
    cases = [*CASES, *SIZES]
    some = [cases[k] for k in options.only] if options.only else cases
    tables = [
        markdown(HEAD, estimates([one for one in some if one in CASES])),
        markdown(CHOICES, choices(some)),
    ]
    text = "\n\n".join(tables)
    print(text)
    if options.write:
        from helpers.machine import in_words, machine

        where = in_words(machine("jax", "jaxlib", "numpy"))
        head, _, remainder = PAGE.read_text().partition(MARKS[0])
        _, _, tail = remainder.partition(MARKS[1])
        text += f"\n\nMeasured by `make bench-plan`: {where}"
        PAGE.write_text(f"{head}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{tail}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
