"""The command `merge`, which makes one store of the stores of several sweeps."""

import dataclasses
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

import jaxtheory
from jaxtheory.cli.export import print_dataset
from jaxtheory.cli.words.arguments import Flag
from jaxtheory.system import disk


@dataclasses.dataclass(frozen=True)
class Merge:
    """Merge finished sweeps that differ in the values of an axis or in seeds into one store.

    Theory, code, config, key, algorithm, steps, records and number format must be equal.

    So must the numbers of runs that several stores have.
    """

    stores: Positional[
        Annotated[tuple[Path, ...], arg(metavar="STORE STORE ...", help_behavior_hint="(required)")]
    ]
    """Directories of the results, two or more."""
    to: Annotated[Path, arg(metavar="STORE")]
    """Directory of the merged results, which must not exist or be empty."""
    accept_versions: Flag = False
    """Merge sweeps of different package versions, which the dataset records."""

    def __call__(self) -> int:
        stores, to = [disk.located(store) for store in self.stores], disk.located(self.to)
        data = jaxtheory.merge(stores, to=to, accept_versions=self.accept_versions)
        print_dataset(data, to)
        return 0
