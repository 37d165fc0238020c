"""The catalog of figures: names and questions without an import, and figures by name."""

import subprocess
import sys

import pytest

from jaxtheory import InputError
from jaxtheory.claims import catalog
from jaxtheory.theories import names


def test_every_figure_file_has_an_entry_and_every_theory_a_figure():
    entries = catalog.entries()
    assert entries.keys() == catalog.files().keys() and len(entries) > 6
    assert {entry.theory for entry in entries.values()} >= {*names()}
    for name, entry in entries.items():
        file = catalog.files()[name]
        assert (entry.name, entry.theory) == (name, file.parent.name) == (file.stem, entry.theory)
        assert entry.question and "\n" not in entry.question


def test_nothing_is_imported_for_names_and_questions():
    code = (
        "import sys; from jaxtheory.claims import catalog; catalog.entries(); catalog.headlines(); "
        "sys.exit(any(name.startswith(catalog.PACKAGE + '.') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_headlines_and_measured_times_are_of_figures_that_exist():
    headlines, entries = catalog.headlines(), catalog.entries()
    assert {*headlines} <= entries.keys() and len({*headlines}) == len(headlines)
    assert catalog.seconds(headlines[0]) > 0 and catalog.seconds("nothing") is None
    assert catalog._measured().keys() <= entries.keys()


def test_a_figure_is_found_by_its_name_and_a_wrong_name_is_refused():
    name = catalog.headlines()[0]
    assert catalog.get(name).name == name and catalog.get(name) is catalog.get(name)
    with pytest.raises(InputError, match=f"unknown figure '{name[:-1]}'; did you mean '{name}'"):
        catalog.get(name[:-1])
