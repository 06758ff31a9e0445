"""Pictures as inline SVG: what the pictures of answers, of published artefacts and of pages share."""
