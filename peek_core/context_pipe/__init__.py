"""ContextPipe: Plan -> Bind -> Optimize -> Execute -> Feedback; the one door to every model (arXiv:2609.00749)."""
