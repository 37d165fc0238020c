"""How long functions take: in turn, medians, compilation apart, long ones from a part of them."""

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

ROUNDS = 5
LONGEST = 10.0  # seconds; what takes longer is timed on a part and multiplied
REST = 0.1  # the threads of NumPy's BLAS spin for some 20 ms after a product


class Side(NamedTuple):
    """Something to be timed: `run` does all of it and waits for it. `part` is at least three steps
    of one run, of which all of it holds `parts`.
    """

    run: Callable[[], Any]
    part: Callable[[], Any] | None = None
    parts: float = 1


class Timed(NamedTuple):
    """Seconds and CPU seconds of all of it, a number per round; the seconds that the first call
    took longer; whether a part was timed and multiplied.
    """

    seconds: list[float]
    cpu: list[float]
    compiling: float
    extrapolated: bool


def once(function: Callable[[], Any]) -> tuple[float, float]:
    """Seconds and CPU seconds (of all threads of the process) of one call, after a rest."""
    time.sleep(REST)
    begun = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - begun[0], time.process_time() - begun[1]


def alternating(
    sides: dict[str, Side], rounds: int = ROUNDS, clock: Callable = once
) -> dict[str, Timed]:
    """Each side timed in turn, `rounds` times, after a first call of each that compiles. Without
    rounds it is the first call that counts.
    """
    chosen, first, extra, times = {}, {}, {}, {}
    for name, side in sides.items():
        chosen[name], times[name] = side.run, 1.0
        if side.part is not None:
            begun, again = clock(side.part)[0], clock(side.part)[0]
            extra[name] = begun - again
            if again * side.parts > LONGEST:
                chosen[name], times[name] = side.part, side.parts
                continue
        first[name] = clock(side.run)
    samples = [{name: clock(function) for name, function in chosen.items()} for _ in range(rounds)]
    samples = samples or [first]
    return {
        name: Timed(
            [times[name] * sample[name][0] for sample in samples],
            [times[name] * sample[name][1] for sample in samples],
            max(
                0.0,
                extra[name]
                if name in extra
                else first[name][0] - statistics.median(sample[name][0] for sample in samples),
            ),
            times[name] != 1,
        )
        for name in sides
    }
