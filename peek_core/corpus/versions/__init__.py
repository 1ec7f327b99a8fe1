"""A new export of a dataset held against the one before: matched, settled under the known names, compared.

Owns: what happens between two files of rows. Refuses to know: datasets, maps, and who agrees to a match.
"""
