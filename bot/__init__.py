"""The conversation core shared by all platforms."""
