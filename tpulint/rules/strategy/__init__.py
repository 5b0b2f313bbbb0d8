"""Rules TPU7xx. TPUStrategy."""
