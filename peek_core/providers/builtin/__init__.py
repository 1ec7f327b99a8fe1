"""The built-in analyst: reads the typed sections of a request and needs no language model."""
