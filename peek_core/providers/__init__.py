"""Providers: language models behind Chat Completions, the built-in analyst, and scripted ones for tests."""
