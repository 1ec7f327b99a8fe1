"""Ways out of the sandbox: none may work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from peek_core.interpreters.monty import MontyInterpreter

from .conftest import Host

CANARY = "peek-canary-5b1f"
ESCAPES = [
    "open({file!r}).read()",
    "open({file!r}, 'w').write('x')",
    "with open({file!r}) as f:\n    print(f.read())",
    "import os\nos.system('touch {new}')",
    "import os\nos.popen('cat {file}').read()",
    "import os\nprint(dict(os.environ))",
    "import os\nprint(os.getenv('PEEK_CANARY'))",
    "import os\nprint(os.listdir('/'))",
    "import os\nprint([e.name for e in os.scandir('/')])",
    "import os\nos.remove({file!r})",
    "import os\nos.kill(1, 0)",
    "import os\nprint(os.fork())",
    "from pathlib import Path\nprint(Path({file!r}).read_text())",
    "from pathlib import Path\nPath({new!r}).write_text('x')",
    "from pathlib import Path\nprint(list(Path('/etc').iterdir()))",
    "import subprocess\nprint(subprocess.run(['id'], capture_output=True))",
    "import socket\nsocket.create_connection(('127.0.0.1', 80))",
    "import urllib.request\nurllib.request.urlopen('http://127.0.0.1')",
    "import ctypes\nctypes.CDLL(None).system(b'id')",
    "import importlib\nimportlib.import_module('os').system('id')",
    "__import__('os').system('id')",
    "__builtins__['__import__']('os')",
    "__builtins__.__import__('os')",
    "__loader__.load_module('os')",
    "().__class__.__mro__[1].__subclasses__()",
    "().__class__.__base__",
    "''.__class__.__mro__",
    "type(()).__subclasses__(object)",
    "object.__subclasses__()",
    "(lambda: 0).__globals__",
    "(lambda: 0).__code__",
    "(lambda: 0).__closure__",
    "print.__self__",
    "len.__self__.__dict__",
    "sql.__globals__",
    "sql.__self__",
    "sql.__func__",
    "FINAL.__closure__",
    "'{{0.__class__.__mro__}}'.format(())",
    "'{{0.__globals__}}'.format(sql)",
    "getattr((), '__cla' + 'ss__').__base__",
    "import sys\nsys.modules['os']",
    "import sys\nsys._getframe(0).f_globals",
    "import gc\ngc.get_objects()",
    "import pickle\npickle.loads(b'cos\\nsystem\\n(S\"id\"\\ntR.')",
    "import inspect\ninspect.stack()",
    "import builtins\nbuiltins.open({file!r})",
    "try:\n    1/0\nexcept Exception as e:\n    print(e.__traceback__.tb_frame.f_globals)",
    "exec('import os; os.system(\"touch {new}\")')",
    "eval('open({file!r}).read()')",
    "compile('1', 'x', 'eval')",
    "breakpoint()",
    "input()",
    "class A:\n    def __del__(self):\n        open({new!r}, 'w')\nA()\n1/0",
    "import asyncio\nasyncio.create_subprocess_shell('id')",
]


@pytest.mark.parametrize("template", ESCAPES)
def test_no_way_out(
    template: str, shared: MontyInterpreter, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEEK_CANARY", CANARY)
    file, new = tmp_path / "canary.txt", tmp_path / "new.txt"
    file.write_text(CANARY)
    outcome = shared.run(template.format(file=str(file), new=str(new)), host.functions())
    seen = f"{outcome.stdout}{outcome.value}{outcome.error}"
    assert CANARY not in seen
    assert "uid=" not in seen and "root:" not in seen and "site-packages" not in seen
    assert str(Path(__file__).parent) not in seen
    assert file.read_text() == CANARY and not new.exists()
    assert outcome.error is not None or outcome.value in (None, "()") or outcome.stdout.strip() in ("{}", "None")
    assert os.path.exists("/")


def test_the_workers_environment_is_empty(monty: MontyInterpreter, host: Host) -> None:
    outcome = monty.run("import os\nprint(len(os.environ))", host.functions())
    assert outcome.error is not None or outcome.stdout.strip() == "0"


def test_functions_of_an_earlier_cell_cannot_be_called_later(monty: MontyInterpreter, host: Host) -> None:
    monty.run("keep = sql", host.functions())
    outcome = monty.run("keep('x')", {})
    assert outcome.error is not None and "NameError" in outcome.error
    assert host.calls == []
