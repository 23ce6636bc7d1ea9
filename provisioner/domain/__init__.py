"""Nouns of the field: frozen, without behaviour beyond what follows from their own fields."""
