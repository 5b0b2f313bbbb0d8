"""Rules TPU8xx. The API itself."""
