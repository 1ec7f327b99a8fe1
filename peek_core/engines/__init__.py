"""SQL engines in worker processes.

Owns: running statements safely over one dataset version. Refuses to know: agents, interpreters, the store.
"""
