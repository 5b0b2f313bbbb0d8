"""Rules TPU9xx. Cost: wasted time and memory of the TPU."""
