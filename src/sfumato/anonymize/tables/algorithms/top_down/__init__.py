"""Records cut into ever smaller parts while every part holds."""
