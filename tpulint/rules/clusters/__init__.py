"""Rules TPU2xx. Host clusters: nesting and scope."""
