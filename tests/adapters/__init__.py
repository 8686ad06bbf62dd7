"""Tests of the platform and model adapters."""
