"""What only programs of TensorFlow and Keras mean: a front end of the analysis.

`build_program` begins in the modules that show the seam (`ENTRY_NAMES`). All modules are read
that device code, host clusters, input pipelines and the scope of a TPU's strategy lead to; of other
host code, those that show the seam or hold records. What is left out is counted (`--statistics`).
The result is `program.Program`: computations, clusters, accesses, uses.
"""
