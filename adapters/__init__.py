"""Doors to the outside: chat platforms and model servers."""
