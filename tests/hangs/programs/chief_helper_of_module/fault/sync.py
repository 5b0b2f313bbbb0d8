import tensorflow as tf


def is_chief():
    context = tf.distribute.get_replica_context()
    return tf.equal(context.replica_id_in_sync_group, 0)


def total(value):
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, value)
