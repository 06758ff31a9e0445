"""What an analyst opens and calls, and the steps every question takes."""
