"""The closed language of questions: what can be asked, what it means, one text for each."""
