"""What the analysis knows of the libraries whose programs it reads: a directory a library."""
