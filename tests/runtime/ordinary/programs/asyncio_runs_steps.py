"""Coroutines run steps, in the loop's thread and in others."""

import asyncio

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()


@tf.function
def step(x):
    tf.debugging.assert_positive(x)
    return strategy.reduce("SUM", strategy.run(lambda v: v * 3.0, args=(x,)), axis=None)


async def worker(number):
    lines = []
    for value in (1.0, -1.0, 2.0):
        try:
            lines.append(float(step(tf.constant(value + number))))
            result = await asyncio.to_thread(step, tf.constant(value))
            lines.append(float(result))
        except tf.errors.InvalidArgumentError:
            lines.append("fails")
    return lines


async def main():
    for lines in await asyncio.gather(*(worker(number) for number in range(2))):
        print(*lines)


asyncio.run(main())
asyncio.run(main())
