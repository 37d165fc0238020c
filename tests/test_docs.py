"""The code of the pages runs as it stands, from top to bottom."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("own-gradient", pytest.param("own-optimiser", marks=pytest.mark.slow), "pure-functions")


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(), re.DOTALL)
    assert blocks
    exec("\n".join(blocks), {"__name__": "__main__"})
