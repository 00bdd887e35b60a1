# SPDX-License-Identifier: Apache-2.0
"""Do the notebooks run from their first cell to their last, and show results as tables and pictures?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples/notebooks").glob("*.ipynb"))


def executed(path: Path) -> Any:
    nbformat = pytest.importorskip("nbformat", reason="notebooks need the extra `notebooks`")
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are kept without what they show"
    # as Jupyter does: in the notebook's own folder
    return NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    shown = [output for cell in executed(path).cells for output in cell.get("outputs", [])]
    kinds = {kind for output in shown for kind in output.get("data", {})}
    assert {"image/png", "text/html"} <= kinds
    if path.stem == "program":
        pages = [output["data"]["text/html"] for output in shown if "text/html" in output.get("data", {})]
        assert "solver.py, 16 ranks on exanest" in pages[0] and "virtual time: 1.08 ms" in pages[0]
        assert "2 results compared" in pages[2]
    left = [output for output in shown if output.get("output_type") == "stream" and output["name"] == "stderr"]
    assert not left, left
