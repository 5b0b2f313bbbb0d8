from __future__ import annotations

import json
import time

import tensorflow as tf
from tensorflow.python.tpu.ops import tpu_ops

import tpulint.runtime as tpu
from tpulint.runtime.execute.probes import profile, watch_segments


def computation(x):
    y = tpu.outside_compilation(lambda a: a[:2] + 1.0, x * 2.0)

    def body(i, a):
        return i + 1, tpu.outside_compilation(lambda b: b * 1.0, a + 1.0)

    return tf.while_loop(lambda i, _: i < 5, body, (0, y))[1]


def test_bytes_counts_and_times_of_each_cluster(tmp_path):
    @tf.function
    def step(a, b):
        return tpu.replicate(computation, [[a], [b]])

    ones = tf.ones([8])
    with profile() as seen:
        for _ in range(3):
            values = step(ones, ones)
    assert values[0][0].shape == [2]
    step(ones, ones)
    assert len(seen.steps) == 3
    for lanes in seen.steps:
        by_name = {lane.lane: lane for lane in lanes}
        assert set(by_name) == {"device", "host cluster 0", "host cluster 1"}
        first, second = by_name["host cluster 0"], by_name["host cluster 1"]
        assert (first.runs, first.bytes_to_host, first.bytes_to_device) == (2, 64, 16)
        assert (second.runs, second.bytes_to_host, second.bytes_to_device) == (10, 80, 80)
        assert all(0.0 < lane.seconds < 60.0 for lane in lanes)
    table = seen.table()
    assert "host cluster 1" in table
    assert "step 2" in table

    path = tmp_path / "trace.json"
    seen.write_chrome_trace(path)
    events = json.loads(path.read_text())["traceEvents"]
    runs = [event for event in events if event["ph"] == "X"]
    assert len(runs) == len(seen.events)
    assert {event["args"]["name"] for event in events if event["ph"] == "M"} == {
        f"replica {replica} {side}" for replica in (0, 1) for side in ("device", "host")
    }


def test_a_segment_of_the_device_begins_when_its_inputs_are_there():
    def host(a):
        return tf.ensure_shape(tf.numpy_function(slow, [a], tf.float32), [])

    def slow(a):
        time.sleep(0.3)
        return a

    def long_and_short(x):
        product = tf.while_loop(lambda i, _: i < 300, lambda i, a: (i + 1, a @ x), (0, x))[1]
        return tpu.outside_compilation(host, tf.reduce_sum(product)) * 2.0

    @tf.function
    def step(x):
        return tpu.rewrite(long_and_short, [x])

    with profile() as seen:
        step(tf.zeros([300, 300]))
    by_start = sorted(seen.events, key=lambda event: event.start)
    assert [event.lane for event in by_start] == ["device", "host cluster 0", "device"]
    long, waited, short = by_start
    assert long.end - long.start > 0.01
    assert waited.end - waited.start > 0.25
    assert short.start - long.end > 0.25


def test_what_goes_through_infeed_and_outfeed():
    def body(i):
        (x,) = tpu_ops.infeed_dequeue_tuple([tf.float32], [[4]])
        with tf.control_dependencies([tpu_ops.outfeed_enqueue(x[:2])]):
            return i + 1

    with tf.Graph().as_default(), tf.compat.v1.Session() as session, profile() as seen:
        enqueue = tpu_ops.infeed_enqueue_tuple([tf.ones([4])], [[4]], device_ordinal=0)
        result = tpu.rewrite(lambda: tf.while_loop(lambda i: i < 3, body, [0]))
        for _ in range(3):
            session.run(enqueue)
        session.run(result)
    by_name = {lane.lane: lane for (lanes,) in [seen.steps] for lane in lanes}
    taken, sent = by_name["infeed"], by_name["outfeed"]
    assert (taken.runs, taken.bytes_to_host, taken.bytes_to_device) == (3, 0, 48)
    assert (sent.runs, sent.bytes_to_host, sent.bytes_to_device) == (3, 24, 0)


def test_what_is_built_outside_has_no_probes():
    graph = tf.Graph()
    with graph.as_default():
        tpu.replicate(computation, [[tf.ones([8])]])
    functions = graph.as_graph_def().library.function
    assert not any(node.op == "PyFunc" for function in functions for node in function.node_def)


def test_a_step_that_was_built_before_is_not_watched_and_the_table_says_so():
    @tf.function
    def step(a):
        return tpu.rewrite(computation, [a])

    step(tf.ones([8]))
    with profile() as seen:
        step(tf.ones([8]))
    assert seen.steps == []
    assert seen.table().startswith("no step was watched: it must be built")


def test_programs_that_one_line_builds_are_told_apart():
    events = []
    with watch_segments(events.append):
        for step in (tf.square, tf.exp, tf.exp):
            tpu.rewrite(step, [tf.constant(1.0)])
    programs = {event.build: event.traced.program for event in events}
    first, second, third = programs.values()
    assert first != second == third
