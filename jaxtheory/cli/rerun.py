"""The command `rerun`, which runs one run of a stored sweep again."""

import dataclasses
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

import jaxtheory
from jaxtheory.cli.terminal import put, table
from jaxtheory.cli.words.arguments import takes
from jaxtheory.cli.words.parsing import load_theory
from jaxtheory.system import disk


@dataclasses.dataclass(frozen=True)
class Rerun:
    """Run one run of a stored sweep again, alone, and compare it with the stored one.

    The results are equal bit for bit on the same machine and software.

    The exit code is 1 if they are not.
    """

    store: Positional[Annotated[Path, arg(metavar="STORE")]]
    """Directory of a finished sweep."""
    where: Positional[Annotated[tuple[str, ...], takes("[NAME=VALUE ...]")]] = ()
    """Value of each axis, by field or symbol, and the seed, such as p=0.5 seed=3."""
    theory: Annotated[str | None, takes("FILE.py")] = None
    """File that defines THEORY; by default the one that the store names, if it is unchanged."""

    def __call__(self) -> int:
        from jaxtheory.engine.rerun import rerun

        where = dict(map(_assignment, self.where))
        theory = None if self.theory is None else load_theory(self.theory)
        again = rerun(disk.located(self.store), theory, **where)
        scalars = [(n, v) for n, v in again.values.items() if v.ndim <= 1 and v.size]
        rows = [
            (name, float(value.ravel()[-1]), "yes" if name in again.same else "NO")
            for name, value in scalars
            if not name.startswith("predicted_")
        ]
        title = ", ".join(self.where) or "the only run"
        table(f"{self.store}: {title}", ("result", "last value", "equal"), rows)
        total = len(again.values)
        put(f"equal bit for bit  {len(again.same)} of {total} arrays")
        if again.differs:
            put(f"differing          {', '.join(again.differs)}")
        put(f"\nin Python, with the same draws (numbers agree up to rounding):\n\n{again.python}")
        return int(bool(again.differs))


def _assignment(text: str) -> tuple[str, float | int | str]:
    """Parse NAME=VALUE, with numbers as numbers."""
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise jaxtheory.InputError(f"{text!r}: must be NAME=VALUE, such as p=0.5 or seed=3")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value
