"""Memory policies: what survives between questions."""
