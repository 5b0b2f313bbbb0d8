"""A strategy of the accelerator and the default strategy, in turns."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
cpu = tf.distribute.OneDeviceStrategy("/cpu:0")
with strategy.scope():
    fast = tf.Variable(1.0)
with cpu.scope():
    slow = tf.Variable(1.0)


def step(chosen, variable):
    @tf.function
    def step(x):
        per_replica = chosen.run(lambda v: variable.assign_add(v), args=(x,))
        return chosen.reduce("MEAN", per_replica, axis=None)

    return step


steps = {"fast": step(strategy, fast), "slow": step(cpu, slow)}
for number in range(3):
    for name, run in steps.items():
        print(name, float(run(tf.constant(float(number)))))
slow.assign(fast.numpy())
print(float(slow), strategy.num_replicas_in_sync, cpu.num_replicas_in_sync)
