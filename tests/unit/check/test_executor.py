"""Steps in several processes find what one finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tpulint.absint.resolver.import_graph import Files, ImportGraph
from tpulint.check.executor import MIN_FILES_FOR_POOL, LocalWorkers
from tpulint.check.programs import prefilter
from tpulint.check.progress import Progress
from tpulint.codes import CODES
from tpulint.disk import Disk
from tpulint.frontends import targets_of
from tpulint.frontends.settings import Settings
from tpulint.frontends.tensorflow.knowledge.tf_names import INSTALLED
from tpulint.incremental.model import Batch

SEAM = "import tensorflow as tf\ny = tf.compat.v1.tpu.rewrite(tf.abs, [[1.0]])\n"
SOFT = "tf.config.set_soft_device_placement(True)\n"


@pytest.mark.parametrize("setter", [SOFT, ""], ids=["soft placement", "no soft placement"])
def test_the_import_graph_of_several_processes_is_that_of_one(setter: str, tmp_path: Path) -> None:
    """They find it ahead while they read the files, which are not read again for it."""
    (tmp_path / "net0.py").write_text(SEAM + setter, encoding="utf-8")
    for number in range(1, MIN_FILES_FOR_POOL + 10):
        text = f"import net{number // 2}\nfrom net{number // 3} import x\n"
        (tmp_path / f"net{number}.py").write_text(text, encoding="utf-8")
    cells = [{"cell_type": "code", "source": ["import net3\n"]}]
    (tmp_path / "note.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    paths = tuple(sorted(map(str, tmp_path.iterdir())))
    here = ImportGraph(Files(installed=INSTALLED))
    imported = {path: here.imported(path) for path in paths}
    batch = Batch(paths, frozenset(), Disk(), frozenset(CODES), Settings())
    with LocalWorkers(batch, 2, Progress()) as workers:
        search = workers.search(prefilter, paths)
    assert search.imports == imported
    assert imported[str(tmp_path / "note.ipynb")] == (str(tmp_path / "net3.py"),)
    assert len(search.prefiltered.searched) == len(paths)
    dependencies = search.asked_for_imports
    assert dependencies.present[str(tmp_path)] >= {"net0.py", "net1.py"}
    assert dependencies.files == {}  # they were read once, for their facts


def test_what_is_no_notebook_imports_nothing(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("", encoding="utf-8")
    (tmp_path / "note.ipynb").write_text("import module\n", encoding="utf-8")
    paths = tuple(sorted(map(str, tmp_path.iterdir())))
    batch = Batch(paths, frozenset(), Disk(), frozenset(CODES), Settings())
    graph = ImportGraph(Files(installed=INSTALLED))
    targets = targets_of(batch.settings, batch.disk)
    prefilter(batch, paths, targets, graph)
    assert graph.imported(str(tmp_path / "note.ipynb")) == ()
