"""The memory of this machine, of its container where that has less, and bytes in words."""

import subprocess
import sys

import pytest

from jaxtheory.system import machine


def in_groups(folder, monkeypatch, cgroup, limits):
    """Let this process be in control groups with these limits by file."""
    (folder / "own").write_text(cgroup)
    for file, text in limits.items():
        (folder / "groups" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "groups" / file).write_text(f"{text}\n")
    monkeypatch.setattr(machine, "_OWN", folder / "own")
    monkeypatch.setattr(machine, "_GROUPS", folder / "groups")


@pytest.mark.parametrize(
    ("cgroup", "limits"),
    [
        ("0::/\n", {"memory.max": 2**20}),
        ("0::/a/b\n", {"memory.max": "max", "a/memory.max": "max", "a/b/memory.max": 2**20}),
        ("0::/a/b\n", {"a/memory.max": 2**20, "a/b/memory.max": 2**30}),
        ("0::/docker/0123\n", {"memory.max": 2**20}),  # the path is that of the host
        ("1:name=systemd:/s\n0::/a\n", {"unified/a/memory.max": 2**20}),
        (
            "9:cpu,cpuacct:/c\n4:memory:/job/step\n0::/\n",
            {
                "memory/memory.limit_in_bytes": 9223372036854771712,
                "memory/job/memory.limit_in_bytes": 2**20,
                "memory/job/step/memory.limit_in_bytes": 2**22,
            },
        ),
        ("0::/a:b\n", {"a:b/memory.max": 2**20}),
        ("", {"memory.max": 2**20}),
    ],
)
def test_the_least_limit_of_the_groups_around_the_process_counts(
    cgroup, limits, tmp_path, monkeypatch
):
    in_groups(tmp_path, monkeypatch, cgroup, limits)
    assert machine.memory() == 2**20


@pytest.mark.parametrize("cgroup", ["0::/a\n", "nonsense", "0::\n::::\n", "0::/../..\n"])
def test_groups_without_limits_leave_the_memory_of_the_machine(cgroup, tmp_path, monkeypatch):
    in_groups(tmp_path, monkeypatch, cgroup, {"memory.max": "max", "a/memory.max": "what"})
    assert machine.memory() > 2**26


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v is not enforced elsewhere")
@pytest.mark.parametrize("option", ["-v", "-d"])
def test_the_limit_of_the_process_counts(option):
    code = "from jaxtheory.system import machine; print(machine.memory())"
    words = ["bash", "-c", f'ulimit {option} 3000000; exec "{sys.executable}" -c "{code}"']
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert 0 < int(done.stdout) <= 3000000 * 1024, done.stderr


def test_memory_that_is_not_known_is_zero(tmp_path, monkeypatch):
    def unknown(name):
        raise ValueError(name)

    in_groups(tmp_path, monkeypatch, "", {})
    monkeypatch.setattr(machine.os, "sysconf", unknown)
    monkeypatch.setattr(machine, "_of_process", lambda: ())
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
