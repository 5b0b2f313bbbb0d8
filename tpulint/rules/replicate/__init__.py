"""Rules TPU4xx. The replicate family: arguments and outputs."""
