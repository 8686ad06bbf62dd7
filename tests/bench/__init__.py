"""Measurements. `make bench` runs `tests.bench`; docs/benchmarks.md says what each figure means."""
