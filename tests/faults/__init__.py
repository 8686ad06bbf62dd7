"""What happens when a process dies or its surroundings fail."""
