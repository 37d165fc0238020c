"""Write sweeps/seconds.json, the duration of each figure, from the records of `jaxtheory run`.

python docs/seconds.py [--store DIR] takes the seconds of all complete runs in DIR, under any key.
Figures without such a run keep their number.
"""

import argparse
import json
from pathlib import Path

import jaxtheory
from jaxtheory.reports.report_page import records

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=Path("results"))
    file = jaxtheory.figures.folder() / "seconds.json"
    seconds = json.loads(file.read_text())
    for _, record in records(parser.parse_args().store):
        if record["figure"] in jaxtheory.figures.entries() and not record["quick"]:
            seconds[record["figure"]] = round(record["seconds"])
    file.write_text(json.dumps(dict(sorted(seconds.items())), indent=1) + "\n")
