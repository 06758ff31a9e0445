"""What can be named where, and how relations are joined."""
