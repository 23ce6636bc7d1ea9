"""Results as people and programs read them: dictionaries, tables, files."""
