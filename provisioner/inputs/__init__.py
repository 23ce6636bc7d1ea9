"""Files to frozen nouns; the only reader of YAML, CSV and JSON, and the only place that rejects."""
