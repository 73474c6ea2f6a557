"""The language: from the text of a spec to a checked, typed tree."""
