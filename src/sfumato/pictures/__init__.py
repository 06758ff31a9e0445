"""Pictures as inline SVG: what those of answers, of published artefacts and of pages share."""
