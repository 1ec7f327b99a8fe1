"""From columns of text to typed ones: what values look like, which convention wrote them, how they are converted."""
