"""Steps in several processes find what one finds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tpulint.analysis.options import Settings
from tpulint.analysis.resolver.files import Files
from tpulint.analysis.resolver.import_graph import ImportGraph
from tpulint.codes import CODES
from tpulint.knowledge.seam import INSTALLED
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.driver import prefilter_files
from tpulint.pipeline.executor import FEW, ProcessExecutor
from tpulint.pipeline.prefilter import Prefiltered
from tpulint.pipeline.progress import Progress

SEAM = "import tensorflow as tf\ny = tf.compat.v1.tpu.rewrite(tf.abs, [[1.0]])\n"
SOFT = "tf.config.set_soft_device_placement(True)\n"


@pytest.mark.parametrize("setter", [SOFT, ""], ids=["soft placement", "no soft placement"])
def test_the_import_graph_of_several_processes_is_that_of_one(setter: str, tmp_path: Path) -> None:
    """They find it ahead while they read the files, which are not read again for it."""
    (tmp_path / "net0.py").write_text(SEAM + setter, encoding="utf-8")
    for number in range(1, FEW + 10):
        text = f"import net{number // 2}\nfrom net{number // 3} import x\n"
        (tmp_path / f"net{number}.py").write_text(text, encoding="utf-8")
    paths = tuple(sorted(map(str, tmp_path.glob("*.py"))))
    here = ImportGraph(Files({}, installed=INSTALLED))
    imported = {path: here.imported(path) for path in paths}
    batch = Batch(paths, frozenset(), {}, frozenset(CODES), Settings(), None)
    graphs = []

    def step(batch: Batch, prefiltered: Prefiltered, graph: ImportGraph) -> list[Job]:
        graphs.append(graph)
        return []

    with ProcessExecutor(batch, 2, Progress()) as executor:
        assert executor.divide(executor.prefilter(prefilter_files), step) == []
    (graph,) = graphs
    assert graph.known == {}  # nothing was asked yet
    assert str(tmp_path) in graph.asked.folders
    for path in paths:
        os.remove(path)
    assert {path: graph.imported(path) for path in paths} == imported == graph.known
