"""What calls of things outside the project mean: TensorFlow's names, and a little Python."""
