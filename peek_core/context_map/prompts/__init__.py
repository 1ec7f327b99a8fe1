"""Prompt texts of the map's two model calls, as files beside this one."""

from importlib.resources import files


def prompt(name: str) -> str:
    """The text of `<name>.txt`."""
    return files(__name__).joinpath(f"{name}.txt").read_text("utf-8")
