"""The part of the compatibility layer that runs inside the sandbox: fed once per session.

Owns: stand-ins for library parts the sandbox lacks. Refuses to know: the host. Every name starts with `_peek`, so
that a cell can't meet one by accident; `callable` is the one built-in added.
"""

from __future__ import annotations

MODULES = frozenset({
    "statistics", "operator", "heapq", "string", "textwrap", "warnings", "pprint", "calendar", "html",
})  # fmt: skip
"""Modules the prelude stands in for; an import of one becomes an assignment."""

EXTRA_NAMES = {("collections", "OrderedDict"): "dict"}
"""Names missing from a module the sandbox has."""

SOURCE = r"""
import collections as _peek_collections
import json as _peek_json
import math as _peek_math
import re as _peek_re

class _PeekModule:
    pass

def callable(value):
    return type(value).__name__ in ("function", "builtin_function_or_method", "type", "method", "partial")

def _peek_show(value):
    if value is None:
        return None
    text = repr(value)
    return (text[:20000], len(text))

def _peek_describe(name, value):
    kind = type(value).__name__
    if kind in ("list", "dict", "set", "frozenset", "tuple", "str", "bytes", "deque", "Counter", "defaultdict"):
        return name + ": " + kind + "[" + str(len(value)) + "]"
    return name + ": " + kind

def _peek_map(function, *lists):
    if len(lists) == 1:
        return [function(v) for v in lists[0]]
    return [function(*v) for v in zip(*lists)]

def _peek_filter(function, values):
    return [v for v in values if function(v)]

def _peek_plain(value, default):
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, dict):
        return {k: _peek_plain(v, default) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_peek_plain(v, default) for v in value]
    return _peek_plain(default(value), default)

def _peek_dumps(value, default=None, cls=None, **options):
    return _peek_json.dumps(value if default is None else _peek_plain(value, default), **options)

def _peek_sub(pattern, replace, text, count=0, flags=0):
    if isinstance(pattern, str):
        pattern = _peek_re.compile(pattern, flags)
    if isinstance(replace, str):
        return pattern.sub(replace, text, count)
    parts = []
    at = 0
    done = 0
    for match in pattern.finditer(text):
        if count and done >= count:
            break
        parts.append(text[at:match.start()])
        parts.append(replace(match))
        at = match.end()
        done += 1
    return "".join(parts) + text[at:]

_peek_statistics = _PeekModule()

def _peek_values(values, name):
    values = list(values)
    if not values:
        raise ValueError(name + " requires at least one data point")
    return values

def _peek_mean(values, weights=None):
    values = _peek_values(values, "mean")
    if weights is not None:
        weights = list(weights)
        return sum([v * w for v, w in zip(values, weights)]) / sum(weights)
    return sum(values) / len(values)

def _peek_whole_mean(values):
    mean = _peek_mean(values)
    return int(mean) if all(isinstance(v, int) for v in values) and mean == int(mean) else mean

def _peek_median(values):
    values = sorted(_peek_values(values, "median"))
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2

def _peek_squares(values):
    mean = _peek_mean(values)
    return sum([(v - mean) ** 2 for v in values])

def _peek_variance(values, xbar=None):
    values = list(values)
    if len(values) < 2:
        raise ValueError("variance requires at least two data points")
    return _peek_squares(values) / (len(values) - 1)

def _peek_pvariance(values, mu=None):
    values = _peek_values(values, "pvariance")
    return _peek_squares(values) / len(values)

def _peek_multimode(values):
    counts = _peek_collections.Counter(values)
    top = max(counts.values()) if counts else 0
    return [k for k, n in counts.items() if n == top]

def _peek_quantiles(values, n=4, method="exclusive"):
    values = sorted(values)
    size = len(values)
    if size < 2:
        raise ValueError("must have at least two data points")
    shift, out = (size - 1, []) if method == "inclusive" else (size + 1, [])
    for i in range(1, n):
        j, delta = divmod(i * shift, n)
        if method != "inclusive":
            j = min(max(j, 1), size - 1)
            delta = i * shift - j * n
            out.append((values[j - 1] * (n - delta) + values[j] * delta) / n)
        else:
            out.append((values[j] * (n - delta) + values[j + 1] * delta) / n)
    return out

def _peek_correlation(x, y):
    x, y = list(x), list(y)
    mx, my = _peek_mean(x), _peek_mean(y)
    top = sum([(a - mx) * (b - my) for a, b in zip(x, y)])
    return top / _peek_math.sqrt(_peek_squares(x) * _peek_squares(y))

_peek_statistics.StatisticsError = ValueError
_peek_statistics.mean = lambda values: _peek_whole_mean(list(values))
_peek_statistics.fmean = lambda values, weights=None: float(_peek_mean(values, weights))
_peek_statistics.median = _peek_median
_peek_statistics.median_low = lambda values: sorted(values)[(len(list(values)) - 1) // 2]
_peek_statistics.median_high = lambda values: sorted(values)[len(list(values)) // 2]
_peek_statistics.mode = lambda values: _peek_multimode(_peek_values(values, "mode"))[0]
_peek_statistics.multimode = _peek_multimode
_peek_statistics.variance = _peek_variance
_peek_statistics.pvariance = _peek_pvariance
_peek_statistics.stdev = lambda values, xbar=None: _peek_math.sqrt(_peek_variance(values))
_peek_statistics.pstdev = lambda values, mu=None: _peek_math.sqrt(_peek_pvariance(values))
_peek_statistics.quantiles = _peek_quantiles
_peek_statistics.correlation = _peek_correlation
_peek_statistics.geometric_mean = lambda v: _peek_math.exp(_peek_mean([_peek_math.log(x) for x in v]))
_peek_statistics.harmonic_mean = lambda v: len(list(v)) / sum([1 / x for x in v])

_peek_operator = _PeekModule()

def _peek_itemgetter(*keys):
    if len(keys) == 1:
        return lambda row: row[keys[0]]
    return lambda row: tuple([row[key] for key in keys])

def _peek_attrgetter(name):
    return lambda value: getattr(value, name)

_peek_operator.itemgetter = _peek_itemgetter
_peek_operator.attrgetter = _peek_attrgetter
_peek_operator.add = lambda a, b: a + b
_peek_operator.sub = lambda a, b: a - b
_peek_operator.mul = lambda a, b: a * b
_peek_operator.truediv = lambda a, b: a / b
_peek_operator.eq = lambda a, b: a == b
_peek_operator.ne = lambda a, b: a != b
_peek_operator.lt = lambda a, b: a < b
_peek_operator.le = lambda a, b: a <= b
_peek_operator.gt = lambda a, b: a > b
_peek_operator.ge = lambda a, b: a >= b
_peek_operator.neg = lambda a: -a
_peek_operator.contains = lambda a, b: b in a
_peek_operator.getitem = lambda a, b: a[b]

_peek_heapq = _PeekModule()

def _peek_push(heap, item):
    heap.append(item)
    heap.sort()

def _peek_nlargest(n, values, key=None):
    return sorted(values, key=key, reverse=True)[:n]

_peek_heapq.nlargest = _peek_nlargest
_peek_heapq.nsmallest = lambda n, values, key=None: sorted(values, key=key)[:n]
_peek_heapq.heapify = lambda heap: heap.sort()
_peek_heapq.heappush = _peek_push
_peek_heapq.heappop = lambda heap: heap.pop(0)
_peek_heapq.merge = lambda *lists: sorted([v for values in lists for v in values])

_peek_string = _PeekModule()
_peek_string.ascii_lowercase = "abcdefghijklmnopqrstuvwxyz"
_peek_string.ascii_uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_peek_string.ascii_letters = _peek_string.ascii_lowercase + _peek_string.ascii_uppercase
_peek_string.digits = "0123456789"
_peek_string.hexdigits = "0123456789abcdefABCDEF"
_peek_string.punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_peek_string.whitespace = " \t\n\r\x0b\x0c"
_peek_string.capwords = lambda text: " ".join([w.capitalize() for w in text.split()])

_peek_textwrap = _PeekModule()

def _peek_wrap(text, width=70, **options):
    lines, line = [], ""
    for word in text.split():
        while len(word) > width:
            if line:
                lines.append(line)
                line = ""
            lines.append(word[:width])
            word = word[width:]
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = line + " " + word if line else word
    return lines + [line] if line else lines

def _peek_shorten(text, width, placeholder=" [...]", **options):
    words = text.split()
    if len(" ".join(words)) <= width:
        return " ".join(words)
    while words and len(" ".join(words)) + len(placeholder) > width:
        words.pop()
    return " ".join(words) + placeholder if words else placeholder.strip()

def _peek_dedent(text):
    lines = [line if line.strip() else "" for line in text.split("\n")]
    sizes = [len(line) - len(line.lstrip()) for line in lines if line]
    cut = min(sizes) if sizes else 0
    return "\n".join([line[cut:] for line in lines])

_peek_textwrap.wrap = _peek_wrap
_peek_textwrap.fill = lambda text, width=70, **options: "\n".join(_peek_wrap(text, width))
_peek_textwrap.shorten = _peek_shorten
_peek_textwrap.dedent = _peek_dedent
_peek_textwrap.indent = lambda text, prefix: "\n".join([prefix + s if s.strip() else s for s in text.split("\n")])

_peek_warnings = _PeekModule()
_peek_warnings.filterwarnings = lambda *a, **k: None
_peek_warnings.simplefilter = lambda *a, **k: None
_peek_warnings.warn = lambda message, *a, **k: print("warning:", message)

_peek_pprint = _PeekModule()
_peek_pprint.pformat = lambda value, **k: _peek_dumps(value, default=str, indent=2)
_peek_pprint.pprint = lambda value, **k: print(_peek_pprint.pformat(value))

_peek_calendar = _PeekModule()
_peek_calendar.month_name = ["", "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December"]
_peek_calendar.month_abbr = [m[:3] for m in _peek_calendar.month_name]
_peek_calendar.day_name = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_peek_calendar.day_abbr = [d[:3] for d in _peek_calendar.day_name]
_peek_calendar.isleap = lambda y: y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)

_peek_html = _PeekModule()

def _peek_escape(text, quote=True):
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&#x27;") if quote else text

_peek_html.escape = _peek_escape
"""
"""Python source, in the sandbox's dialect."""
