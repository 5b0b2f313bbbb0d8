"""The calls of a program, by their names."""

from tests.unit.reading import program

TEXT = """
import tensorflow as tf

first = tf.ones([1])
second = tf.zeros([1])
third = tf.ones([1])

def computation(x):
    return tf.ones([1]) + tf.zeros([1])

tf.compat.v1.tpu.rewrite(computation, [first])
"""


def test_calls_of_several_names_come_in_the_order_of_the_program():
    read = program(TEXT)

    outside = [call.last for call in read.named_any(["zeros", "ones", "missing"])]
    everywhere = [call.last for call in read.all_named(["zeros", "ones"])]

    assert outside == ["ones", "zeros", "ones"]
    assert everywhere == ["ones", "zeros", "ones", "ones", "zeros"]


def test_calls_of_one_name_are_those_inside_computations_as_well():
    read = program(TEXT)

    assert len(read.named_any(["zeros"])) == 1
    assert len(read.all_named(["zeros"])) == 2
    assert read.all_named(["missing"]) == []
