"""Rules TPU5xx. Operations, dtypes and shapes on the device."""
