"""Tests of the conversation core."""
