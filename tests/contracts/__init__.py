"""One suite per Protocol, run on every implementation."""
