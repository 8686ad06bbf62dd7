"""Tests of Oboete."""
