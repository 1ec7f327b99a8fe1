"""The context map: items, definitions, and the policy that keeps them (PEEK, arXiv:2605.19932)."""
