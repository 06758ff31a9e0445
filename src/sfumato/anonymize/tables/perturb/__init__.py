"""Operations that hurt truthfulness: noise, swapping, microaggregation, synthetic records."""
