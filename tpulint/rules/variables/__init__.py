"""Rules TPU1xx. Variables: deadlocks and lost updates."""
