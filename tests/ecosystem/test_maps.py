"""The maps of released programs can be read: folded where they are large, whole in every format."""

from __future__ import annotations

import re
import time
import xml.etree.ElementTree as ElementTree

import pytest

from tests.ecosystem.corpus import bring
from tests.unit.map.drawn import context_of, of_file
from tpulint.map.computation import MOST
from tpulint.map.pictures import load
from tpulint.map.pictures.layout import Drawing, drawing

pytestmark = pytest.mark.ecosystem

SECONDS = 60.0  # for a reading without a cache, on a busy machine
HIGHEST = 6_000.0  # pixels of one picture
PROGRAMS = {
    "mesh-tensorflow/mesh_tensorflow/experimental/model_executor.py": "_host_loss_summary",
    "tensor2tensor/tensor2tensor/utils/t2t_model.py": "host_call_fn",
    "bert-tensorflow/bert/run_pretraining.py": "metric_fn",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_released_program_can_be_read(name: str) -> None:
    path = bring() / name
    begun = time.monotonic()
    here = of_file(path)
    assert time.monotonic() - begun < SECONDS
    context = context_of(here, path.parent)
    titles = [node.title for computation in here.program.computations for node in computation.nodes]
    assert PROGRAMS[name] in titles
    for computation in here.program.computations:
        assert len(computation.nodes) <= MOST + 6, "with what is before the program"
        for narrow in (False, True):
            assert_is_readable(drawing(computation, context, narrow=narrow))
    ElementTree.fromstring(load("svg")(here.program, context))
    page = load("html")(here.program, context)
    assert not re.search(r"\b(src|srcset)=|@import", page)
    rows = [line for line in load("text")(here.program, context).splitlines() if " | " in line]
    assert max(map(len, rows)) <= context.width


def assert_is_readable(picture: Drawing) -> None:
    assert picture.height < HIGHEST
    for box in picture.boxes:
        assert box.words or box.style
        assert box.x >= 0
        assert box.right <= picture.width
