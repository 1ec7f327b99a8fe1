"""Product feedback: 50,000 synthetic rows of survey feedback with ten planted facts and a question series.

Owns the data set, its house rules and its right answers. Knows nothing of the application that asks the questions.
"""
