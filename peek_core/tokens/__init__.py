"""Token counts without a network: tiktoken with its rank files shipped as package data.

Owns: unpacking the files under the names tiktoken looks for. Refuses to know: what is counted. Counts are estimates
for any model whose tokenizer is not o200k.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import os
import tempfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import platformdirs

from peek_core.errors import Broken

ENCODING = "o200k_base"
# encoding -> (name in tiktoken's cache: sha1 of the address it would load from, sha256 of the file)
_FILES = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}


def unpack(folder: Path) -> Path:
    """Write the rank files into `folder` where they are missing or damaged; raises Broken when they can't be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for encoding, (name, sha256) in _FILES.items():
            target = folder / name
            if not target.exists() or hashlib.sha256(target.read_bytes()).hexdigest() != sha256:
                _write(target, encoding, sha256)
    except OSError as failure:
        raise Broken(
            "The token tables can't be unpacked", where=str(folder), next="Free some space or set TIKTOKEN_CACHE_DIR."
        ) from failure
    return folder


def _write(target: Path, encoding: str, sha256: str) -> None:
    raw = gzip.decompress(files(__name__).joinpath(f"{encoding}.tiktoken.gz").read_bytes())
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise Broken(f"The shipped token table {encoding} is damaged", next="Install PEEK again.")
    handle, name = tempfile.mkstemp(dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(raw)
        os.replace(name, target)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def counter() -> tuple[str, Callable[[str], int]]:
    """(encoding name, function from text to tokens). Loads the table at the first count (about 0.3 s)."""
    if "TIKTOKEN_CACHE_DIR" not in os.environ:
        os.environ["TIKTOKEN_CACHE_DIR"] = str(unpack(platformdirs.user_cache_path("peek") / "tiktoken"))
    encoding = functools.cache(_encoding)

    def count(text: str) -> int:
        return len(encoding().encode_ordinary(text))

    return ENCODING, count


def _encoding():  # type: ignore[no-untyped-def]  # tiktoken is imported at the first count, not at start
    import tiktoken

    return tiktoken.get_encoding(ENCODING)
