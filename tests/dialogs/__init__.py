"""Whole conversations as tests: what is said, and what is answered."""
