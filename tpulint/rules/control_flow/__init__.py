"""Rules TPU3xx. Control flow."""
