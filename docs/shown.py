"""Write docs/shown/NAME.webp, the pictures of pages, from what the code of the pages saves.

`make shown` runs python docs/shown.py, which runs the Python code of each page that shows such a
picture, in an empty folder. The code saves NAME.png, or NAME.html, of which Chromium makes a
picture. `python docs/shown.py quickstart` does so for one page.
"""

import argparse
import contextlib
import re
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
FOLDER = DOCS / "shown"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PICTURE = re.compile(r"!\[([^\]]*)\]\(shown/([\w-]+)\.webp\)")
SIZE = {"width": 1100, "height": 760, "deviceScaleFactor": 1.5, "mobile": False}
DRAWN = "return document.documentElement.dataset.drawn"  # by an explorer, when it has


def blocks(page: str) -> list[str]:
    """Return the Python code of a page, block by block."""
    return BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))


def run(page: str, folder: Path) -> None:
    """Run the code of a page in a folder, from top to bottom, as one program."""
    with contextlib.chdir(folder):
        exec("\n".join(blocks(page)), {"__name__": "__main__"})


def pictures(page: str) -> dict[str, str]:
    """Return the pictures that a page shows: name -> what is seen, for those who cannot see it."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return {name: seen for seen, name in PICTURE.findall(text)}


def pages() -> list[str]:
    """Return the pages that show such pictures."""
    return sorted(file.stem for file in DOCS.glob("*.md") if pictures(file.stem))


def saved(name: str, folder: Path) -> Path | None:
    """Return the file that the code of a page saved for a picture, or None."""
    files = (folder / f"{name}{ending}" for ending in (".png", ".html"))
    return next((file for file in files if file.is_file()), None)


def photograph(page: Path) -> Path:
    """Return a picture of an HTML page as Chromium shows it."""
    sys.path.insert(0, str(DOCS.parent))
    from tests.helpers.browser import chromium, emulate, until

    with chromium() as browser:
        emulate(browser)
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SIZE)
        browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        browser.get(page.as_uri())
        until(lambda: browser.execute_script(DRAWN))
        browser.save_screenshot(str(page.with_suffix(".png")))
    return page.with_suffix(".png")


def write(page: str) -> None:
    """Write the pictures of a page."""
    from pictures import webp

    with tempfile.TemporaryDirectory() as place:
        run(page, Path(place))
        for name in pictures(page):
            if (file := saved(name, Path(place))) is None:
                raise SystemExit(f"docs/{page}.md shows {name}, and its code saves no such file")
            file = photograph(file) if file.suffix == ".html" else file
            (FOLDER / f"{name}.webp").write_bytes(webp(file))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="pages such as quickstart, by default all")
    FOLDER.mkdir(exist_ok=True)
    for page in parser.parse_args().pages or pages():
        write(page)
