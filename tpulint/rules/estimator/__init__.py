"""Rules TPU6xx. TPUEstimator and input pipelines."""
