"""IPython's lines of a notebook that is run as a program: no shell, and no TensorFlow here."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tpulint.run.program import run_notebook


class Notebook:
    """A notebook in the working directory, and what was said of it."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.main = ModuleType("none")

    def run(self, *cells: str) -> None:
        """Run a notebook of these cells."""
        written = [{"cell_type": "code", "source": cell, "metadata": {}} for cell in cells]
        path = os.path.abspath("train.ipynb")
        Path(path).write_text(json.dumps({"cells": written, "metadata": {}}), encoding="utf-8")
        try:
            run_notebook(path, self.notes.append)
        finally:
            self.main = sys.modules["__main__"]


@pytest.fixture(name="notebook")
def notebook_fixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Notebook:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "elsewhere"), *sys.path])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    return Notebook()


def test_folders_and_files_are_made(
    notebook: Notebook, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    notebook.run(
        "folder = 'my models'\n! mkdir data\nif folder:\n    !mkdir -p {folder}/a \\\n   $folder/b",
        "#@title A module\n%%writefile own_module_of_a_cell.py\nvalue = 3\n",
        "import own_module_of_a_cell\nvalue = own_module_of_a_cell.value",
        "%%writefile -a data/notes.txt\n  {folder}",
        "names = !ls -1 {folder}\n!ls data\n%cd data\nhere = %pwd\n!mkdir data/x/y\n%cd missing",
        "%env MADE_BY_A_CELL=a b\nimport os\nset_by_cell = os.environ.pop('MADE_BY_A_CELL')",
    )
    del sys.modules["own_module_of_a_cell"]
    names = vars(notebook.main)
    assert names["value"] == 3
    assert names["names"] == ["a", "b"]
    assert names["here"] == str(tmp_path / "data")
    assert names["set_by_cell"] == "a b"
    assert (tmp_path / "data/notes.txt").read_text() == "  {folder}\n"
    out, err = capfd.readouterr()
    assert out.splitlines() == [
        "notes.txt",
        str(tmp_path / "data"),
        "mkdir: data/x/y: No such file or directory",
        "cd: missing: No such file or directory",
    ]
    assert (err, notebook.notes) == ("", [])


# What a shell would do with these is not known, or is for the machine of Colab.
LEFT_OUT = [
    "!pip install -q transformers",
    "!rm -rf data",
    "!mkdir a && cd a",
    "!mkdir {a,b}",
    "!mkdir -m 700 secret",
    "!mkdir $NOBODY_HAS_SET_IT",
    "!cp -r data/* $(pwd)",
    "!nvidia-smi",
    "%run other.py",
]


@pytest.mark.parametrize("command", LEFT_OUT)
def test_no_other_command_runs(
    command: str, notebook: Notebook, capfd: pytest.CaptureFixture[str]
) -> None:
    notebook.run("before = 1", f"for _ in range(2):\n    {command}\nif not before:\n    !wget x")
    assert capfd.readouterr().err == f"tpulint: train.ipynb: cell 2: skipped: {command}\n"
    assert os.listdir() == ["train.ipynb"]
    assert notebook.notes == []


def test_the_report_names_the_installation_of_a_missing_package(notebook: Notebook) -> None:
    with pytest.raises(ModuleNotFoundError):
        notebook.run("!pip install -q nobody-has-it", "!pip list", "import nobody_has_it.part")
    output = "cell 1: `!pip install -q nobody-has-it` was not run, and `nobody_has_it` is missing"
    assert notebook.notes == [f"{output}: install it"]


def test_a_cell_for_a_shell_does_not_run(
    notebook: Notebook, capfd: pytest.CaptureFixture[str]
) -> None:
    notebook.run("%%bash\nmkdir data\nrm train.ipynb")
    assert capfd.readouterr() == ("", "tpulint: train.ipynb: cell 1: skipped: %%bash\n")
    assert os.listdir() == ["train.ipynb"]


DOWNLOADS = {
    "!wget -q https://example.org/a/data.zip?raw=1": "data.zip",
    "!wget -P raw https://example.org/data.csv": "raw/data.csv",
    "!wget --show-progress -O {folder}/text.txt https://example.org/1": "/none/text.txt",
    "!curl -L https://example.org/data.csv -o data.csv": "data.csv",
    "!curl -LO https://example.org/data.csv": "",
    "!curl https://example.org": "",
    "!wget -O here.txt https://example.org/here": "",
    "!gsutil -q cp gs://data/train.csv .": "train.csv",
    "!gsutil -m cp gs://data/train.csv raw/": "raw/train.csv",
    "!gsutil cp -r gs://data/train {folder}": "/none",
    "!gsutil cp gs://data/here.txt .": "",
    "!gsutil cp gs://data/*.csv .": "",
    "!gsutil cp here.txt gs://data/train.csv": "",
    "!gsutil ls gs://data": "",
    "!gcloud storage cp gs://data/train.csv train.csv": "train.csv",
    "!gcloud config set project mine": "",
}


@pytest.mark.parametrize("command", DOWNLOADS)
def test_the_report_says_where_a_download_belongs(command: str, notebook: Notebook) -> None:
    Path("here.txt").touch()
    notebook.run(f"folder = '/none'\n{command}")
    place = DOWNLOADS[command]
    output = f"cell 1: `{command}` was not run: put what it downloads at {place}"
    assert notebook.notes == ([output] if place else [])


def test_what_shows_something_is_left_out_without_a_word(
    notebook: Notebook, capfd: pytest.CaptureFixture[str]
) -> None:
    notebook.run(
        "%matplotlib inline\n%load_ext autoreload\n%tensorflow_version 2.x  # on Colab\nlen?",
        "%%time\ntotal = 1\n%timeit -n 10 total",
        "%time total += 3\n%timeit total",
        "%tensorflow_version 1.x",
    )
    assert vars(notebook.main)["total"] == 4
    output = "tpulint: train.ipynb: cell 2: skipped: %timeit -n 10 total\n"
    assert capfd.readouterr() == ("", output)
    (note,) = notebook.notes
    assert note == "cell 4: `%tensorflow_version 1.x`: tpulint runs programs on TensorFlow 2"


def test_a_blank_for_students_stays_blank(notebook: Notebook) -> None:
    notebook.run("answer = # write it here")
    assert vars(notebook.main)["answer"] is None
