"""Options that several commands share, and the values they are read into."""
