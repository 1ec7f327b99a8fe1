"""The examples in the docstrings of the pipe hold."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import peek_core.context_pipe
import peek_core.lab

MODULES = [
    name
    for package in (peek_core.context_pipe, peek_core.lab)
    for _, name, _ in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
