"""Models you may publish: scikit-learn estimators and training of torch modules, under privacy."""
