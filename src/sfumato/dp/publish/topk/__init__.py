"""The most frequent items, words and itemsets; and which of them may be named at all."""
