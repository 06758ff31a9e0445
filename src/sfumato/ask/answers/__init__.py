"""From exact totals to an answer: noise, composition, intervals, tables, artefacts."""
