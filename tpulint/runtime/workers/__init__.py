"""The hosts of an emulated pod as processes: TensorFlow servers, which programs connect to."""
