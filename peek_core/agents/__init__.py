"""Agents: the REPL agent that answers a question by writing and running cells."""
