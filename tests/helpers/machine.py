"""The machine of a measurement."""

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path


def machine(*packages: str) -> dict[str, str | int]:
    """Processor, cores, Python, the versions of packages, and the date."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": next(iter(models), platform.processor()),
        "cores": os.cpu_count() or 0,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "date": time.strftime("%Y-%m-%d"),
    }


def in_words(facts: dict) -> str:
    """cpu ...; cores 2; ..."""
    return "; ".join(f"{name} {value}" for name, value in facts.items())
