"""The API: what programs ask for, one module per noun."""
