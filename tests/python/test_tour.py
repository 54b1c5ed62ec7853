"""The notebook runs from its first cell to its last, in an empty folder, and shows what the committed one shows."""
import json
import re
import shutil

import headers
import pytest

NOTEBOOK = headers.SOURCE / "examples" / "python" / "tour.ipynb"


def shown(notebook):
    """Of every cell: which pictures and tables it shows."""
    found = []
    for cell in notebook["cells"]:
        page = "".join("".join(output.get("data", {}).get("text/html", "")) for output in cell.get("outputs", []))
        found.append((len(re.findall("<svg", page)), len(re.findall("<table", page))))
    return found


def test_the_committed_one_has_pictures_and_no_errors():
    text = NOTEBOOK.read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert sum(pictures for pictures, _ in shown(notebook)) >= 6 and sum(tables for _, tables in shown(notebook)) >= 6
    assert not [output for cell in notebook["cells"] for output in cell.get("outputs", [])
                if output["output_type"] in ("error", "stream")]
    assert len(text) < 300_000 and "/tmp/" not in text


def test_it_runs(tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (Debian package python3-nbclient)")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (Debian package python3-nbformat)")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed (Debian package python3-ipykernel)")
    shutil.copy(NOTEBOOK, tmp_path / "tour.ipynb")
    notebook = nbformat.read(tmp_path / "tour.ipynb", as_version=4)
    expected = shown(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    nbclient.NotebookClient(notebook, timeout=900, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert shown(notebook) == expected
    page = (tmp_path / "tour" / "boats.html").read_text()
    assert '"plan":[{' in page and "TITLE" not in page
