"""The tests that `make test` leaves out, since they took over a second when last measured.

`make test ARGS="--all --junitxml=results.xml"`, on a machine that does nothing else, and then
`python tests/helpers/slow.py results.xml` write them to slow.txt. A test may also be slow only
where others that share its compilations are left out: several files may be given, and the longest
time counts. Other slow tests are marked.
"""

import sys
from pathlib import Path
from xml.etree import ElementTree

SECONDS = 1.0
LIST = Path(__file__).with_name("slow.txt")
ROOT = Path(__file__).parents[2]


def listed() -> frozenset[str]:
    """The ids of these tests."""
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def measured(results: str) -> dict[str, float]:
    """The seconds of each test by its id, from a JUnit file of pytest."""
    return {
        _id(case.get("classname", ""), case.get("name", "")): float(case.get("time", 0))
        for case in ElementTree.parse(results).iter("testcase")
    }


def _id(place: str, name: str) -> str:
    """The id of a test in a module, or in a class of a module."""
    parts = place.split(".")
    in_class = parts[-1][:1].isupper()
    module = "/".join(parts[:-1] if in_class else parts)
    return "::".join([f"{module}.py", *parts[-1:] * in_class, name])


if __name__ == "__main__":
    seconds: dict[str, float] = {}
    for results in sys.argv[1:]:
        for test, duration in measured(results).items():
            seconds[test] = max(duration, seconds.get(test, 0))
    slow = sorted(test for test, duration in seconds.items() if duration > SECONDS)
    if absolute_ids := [test for test in slow if str(ROOT) in test]:
        sys.exit(f"give these tests ids without the folder of this checkout: {absolute_ids}")
    LIST.write_text("\n".join(slow) + "\n", encoding="utf-8")
    print(f"{len(slow)} of {len(seconds)} tests took more than {SECONDS:g} s")
