"""A bag-of-words scorer whose words are looked up on the host."""
