"""Whole programs over real sockets, and the wire doubles they talk to."""
