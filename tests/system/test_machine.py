"""The memory of this machine, of its container where that has less, and bytes in words."""

import pytest

from jaxtheory.system import machine


def test_memory_is_the_least_of_machine_and_container(tmp_path, monkeypatch):
    whole, part, none = (tmp_path / name for name in ("whole", "part", "none"))
    whole.write_text("max\n")
    part.write_text("1048576\n")
    monkeypatch.setattr(machine, "_CGROUPS", (str(none), str(whole)))
    physical = machine.memory()
    assert physical > 2**26
    monkeypatch.setattr(machine, "_CGROUPS", (str(none), str(part)))
    assert machine.memory() == 2**20


def test_memory_that_is_not_known_is_zero(monkeypatch):
    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(machine.os, "sysconf", unknown)
    monkeypatch.setattr(machine, "_CGROUPS", ())
    assert machine.memory() == 0


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1.02e+03 B"),
        (1024, "1 KiB"),
        (3 * 2**30, "3 GiB"),
        (1536, "1.5 KiB"),
        (2**50, "1.02e+03 TiB"),
    ],
)
def test_bytes_in_words(count, text):
    assert machine.bytes_text(count) == text
