"""The environment of a store: versions, the processor of XLA, flags that change programs."""

import json
import os
import subprocess
import sys

import jax
import pytest

from jaxtheory.engine.results import environment

PRINT = """
import json
from jaxtheory.engine.results import environment
print(json.dumps(environment.present()))
"""


def elsewhere(**variables):
    """The environment of a process with these variables."""
    plain = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", *environment._VARIABLES)}
    out = subprocess.run(
        [sys.executable, "-c", PRINT],
        env=plain | {"JAX_PLATFORMS": "cpu"} | variables,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return json.loads(out.stdout)


def test_names_are_those_of_the_entries():
    assert {"python", *environment.NAMES} == environment.present().keys()
    assert all(isinstance(value, str) for value in environment.present().values())


def test_the_processor_is_that_which_xla_compiles_for():
    plain = elsewhere()
    assert plain == elsewhere() and plain["xla_flags"] == plain["variables"] == "none"
    assert plain["target"] == environment._target("cpu")
    machine, _, features = environment._machine_of(program())
    assert plain["target"].startswith(machine) and features.count(",") >= 3
    if machine == "x86_64":
        older = elsewhere(XLA_FLAGS="--xla_cpu_max_isa=SSE4_2 --xla_dump_disable_metadata")
        assert older["target"] != plain["target"] and "sse4.2" in older["target"]
        assert older["xla_flags"] == "xla_cpu_max_isa=SSE4_2"


def program():
    compiled = jax.jit(lambda x: 2 * x).lower(1.0).compile()
    return environment.serialize_executable.serialize(compiled)[0]


def test_a_program_without_the_texts_gives_the_machine(monkeypatch):
    complete = program()
    for data in (b"", complete.replace(b"linux", b""), b"\nabc-d-e\x12\x02ab"):
        assert environment._machine_of(data) in (("", "", ""), environment._machine_of(complete))
    monkeypatch.setattr(environment, "_machine_of", lambda _: ("", "", ""))
    assert environment._target.__wrapped__("cpu") == environment.platform.machine()


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("", ""),
        ("--xla_b=2  --xla_a", "xla_a=true xla_b=2"),
        ("--xla_a=1 --xla_a=false", "xla_a=false"),
        ("--xla_dump_to=/tmp/x --xla_force_host_platform_device_count=2", ""),
        ("--xla_gpu_autotune_level=0", "xla_gpu_autotune_level=0"),
        ("--xla_a='b c'", "xla_a=b c"),
        ("/no/such/file", "/no/such/file"),
    ],
)
def test_xla_flags_are_sorted_and_those_that_change_no_program_ignored(text, flags):
    assert environment._xla_flags(text) == flags


def test_xla_flags_in_a_file(tmp_path):
    (tmp_path / "flags").write_text("--xla_b=2\n--xla_a=1", encoding="utf-8")
    assert environment._xla_flags(str(tmp_path / "flags")) == "xla_a=1 xla_b=2"


def test_flags_of_jax_and_variables_that_differ_from_the_defaults(monkeypatch):
    assert environment.present()["jax_flags"] == "none"
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    assert environment.present()["variables"] == "NVIDIA_TF32_OVERRIDE=0"
    jax.config.update("jax_random_seed_offset", 3)
    try:
        assert environment.present()["jax_flags"] == "jax_random_seed_offset=3"
    finally:
        jax.config.update("jax_random_seed_offset", 0)
