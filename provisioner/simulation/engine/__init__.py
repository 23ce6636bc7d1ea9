"""The compiled event engine: arrays in, arrays out; it knows no names."""
