"""From the text of a log to records of its lines."""
