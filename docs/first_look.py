"""Write docs/first-look.ipynb: the tutorial notebooks/first-sweep.md with what its code returns.

`make shown` runs python docs/first_look.py. It can be read where no Markdown is executed.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
SOURCE, FILE = DOCS / "notebooks" / "first-sweep.md", DOCS / "first-look.ipynb"
SETTING = 'c.InlineBackend.figure_formats = {"retina"}\n'  # twice as many pixels


def on_site(text: str) -> str:
    """Return a page in which the link to the notebook leads to the file, which has no page."""
    return text.replace(f"]({FILE.name})", f"](path:{FILE.name})")


def notebook() -> Any:
    """Return the tutorial as a notebook without outputs, with links from the folder docs."""
    from myst_nb.core.read import MdParserConfig, read_myst_markdown_notebook

    book = read_myst_markdown_notebook(SOURCE.read_text(encoding="utf-8"), MdParserConfig())
    book.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    for place, cell in enumerate(book.cells):
        cell.id, cell.metadata = f"cell-{place}", {}
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace("](../", "](")
    return book


def executed(book: Any) -> Any:
    """Return a notebook with its outputs, without progress bars and warnings."""
    import nbclient

    with tempfile.TemporaryDirectory() as place:
        settings = Path(place, "profile_default", "ipython_kernel_config.py")
        settings.parent.mkdir()
        settings.write_text(f"c = get_config()\n{SETTING}", encoding="utf-8")
        os.environ["IPYTHONDIR"] = place
        client = nbclient.NotebookClient(book, timeout=1200, record_timing=False)
        done = client.execute(cwd=place)
    for cell in done.cells:
        if cell.cell_type == "code":
            cell.outputs = [out for out in cell.outputs if is_result(out)]
    return done


def is_result(output: Any) -> bool:
    """True for what code prints, draws or returns, and for errors."""
    return output.get("name") != "stderr" and not any(
        "widget" in kind for kind in output.get("data", ())
    )


if __name__ == "__main__":
    import nbformat

    nbformat.write(executed(notebook()), FILE)
