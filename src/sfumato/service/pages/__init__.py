"""The pages: rendered here, readable without a script, one module per noun."""
