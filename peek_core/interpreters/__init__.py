"""Python sandboxes for the agent's cells.

Owns: running untrusted Python out of process, or refusing to. Refuses to know: agents, engines, the store.
"""
