"""sweeps/seconds.json, how long each figure takes, from what `jaxtheory run` has kept.

python docs/seconds.py [--store DIR]: seconds of the runs of whole figures in DIR, under any key;
figures that were not run there keep their number.
"""

import argparse
import json
from pathlib import Path

import jaxtheory
from jaxtheory.reports.page import records

if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--store", type=Path, default=Path("results"))
    file = jaxtheory.figures.folder() / "seconds.json"
    found = json.loads(file.read_text())
    for _, record in records(words.parse_args().store):
        if record["figure"] in jaxtheory.figures.entries() and not record["quick"]:
            found[record["figure"]] = round(record["seconds"])
    file.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")
