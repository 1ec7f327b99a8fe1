"""Support tickets: 8,000 synthetic tickets and 900 customers, as a typical European export of two related tables.

Owns the data set, its house rules and its right answers. Knows nothing of the application that asks the questions.
"""
