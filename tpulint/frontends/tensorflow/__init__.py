"""What only programs of TensorFlow and Keras mean: values, names and hooks of the interpreter."""
