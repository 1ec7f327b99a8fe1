"""Exact versions of everything that comes along, kept in pyproject as uv constraints.

`--write` puts what uv resolves now into pyproject, `--check` fails when it differs, `--resolve` fails when a platform
the README names finds no wheels (macOS on arm64, Python 3.12 to 3.14).
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UV = ROOT / ".uv" / "bin" / "uv"
TARGETS = [("aarch64-apple-darwin", "3.11"), *[("x86_64-unknown-linux-gnu", v) for v in ("3.12", "3.13", "3.14")]]


def uv(*args: str) -> str:
    """Output of a uv command; its own message on failure."""
    done = subprocess.run([str(UV), *args], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"uv {' '.join(args)} failed:\n{done.stderr[-3000:]}")
    return done.stdout


def exported() -> list[str]:
    """Every package uv would install, as name==version; the marker too where Python versions need different ones."""
    text = uv("export", "-q", "--all-groups", "--no-hashes", "--no-emit-project", "--no-annotate", "--no-header")
    lines = [line.strip() for line in text.splitlines() if re.match(r"[\w.-]+==", line)]
    names = [line.split("==")[0] for line in lines]
    kept = {
        line if names.count(name) > 1 else line.split(";")[0].strip() for line, name in zip(lines, names, strict=True)
    }
    return sorted(kept, key=str.lower)


def direct() -> set[str]:
    """Packages pinned in pyproject by name."""
    text = (ROOT / "pyproject.toml").read_text("utf-8").split("[tool.uv]")[0]
    return set(re.findall(r'"([\w.-]+==[^"]+)"', text))


def constraints() -> list[str]:
    return [p for p in exported() if p not in direct()]


def written() -> list[str]:
    block = re.search(r"constraint-dependencies = \[\n(.*?)\]", (ROOT / "pyproject.toml").read_text("utf-8"), re.S)
    return re.findall(r'"([^"]+)"', block[1]) if block else []


def write() -> None:
    path = ROOT / "pyproject.toml"
    lines = "".join(f'  "{p}",\n' for p in constraints())
    text = re.sub(
        r"constraint-dependencies = \[\n.*?\]",
        f"constraint-dependencies = [\n{lines}]",
        path.read_text("utf-8"),
        flags=re.S,
    )
    path.write_text(text, "utf-8")


def main() -> int:
    """Run one of --write, --check, --resolve."""
    if "--write" in sys.argv:
        write()
    if "--check" in sys.argv:
        differ = sorted(set(constraints()) ^ set(written()))
        if differ:
            print(
                f"pyproject's constraints differ from what uv resolves: {', '.join(differ)}\n"
                "run: python -m tests.kit.constraints --write"
            )
            return 1
    if "--resolve" in sys.argv:
        for platform, python in TARGETS:
            uv(
                "pip",
                "compile",
                "-q",
                "pyproject.toml",
                "--group",
                "test",
                "--python-platform",
                platform,
                "--python-version",
                python,
                "--only-binary",
                ":all:",
                "-o",
                "/dev/null",
            )
            print(f"wheels found for {platform}, Python {python}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
