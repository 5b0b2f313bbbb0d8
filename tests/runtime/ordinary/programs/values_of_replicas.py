"""Values of each replica, made, gathered and reduced."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
values = strategy.experimental_distribute_values_from_function(
    lambda context: tf.constant([[float(context.replica_id_in_sync_group)]])
)


@tf.function
def step(values):
    def replica(x):
        context = tf.distribute.get_replica_context()
        return context.all_reduce("SUM", x), context.all_gather(x, axis=0)

    return strategy.run(replica, args=(values,))


for _ in range(2):
    summed, gathered = step(values)
    print([float(x[0, 0]) for x in strategy.experimental_local_results(summed)])
    print([x.numpy().ravel().tolist() for x in strategy.experimental_local_results(gathered)])
    print(strategy.gather(values, axis=0).numpy().ravel().tolist())
