"""What may be asked for: one model per request, declared once.

A command, an HTTP request and a form are three ways to fill in the same model. Each field says
its type, its limits, what it means and how it is written on a command line; the model's JSON
schema is what an OpenAPI page and a form are made of.

A request such as `AnonymizeRequest` holds what is wanted, whoever asks and wherever the data are;
a command such as `AnonymizeCommand` adds the files of whoever sits at a terminal. Importing a
module here loads pydantic, so commands load the one they need.
"""
