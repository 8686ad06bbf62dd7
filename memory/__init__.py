"""Long-term memory: a library with no chat platform and no language model in it."""
