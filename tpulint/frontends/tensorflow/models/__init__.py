"""Models of calls outside the project: TensorFlow's names, and a little Python."""
