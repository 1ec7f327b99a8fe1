"""One spelling for an endpoint's address, so that the same endpoint is found however it was typed.

Owns: that spelling. Refuses to know: prices.
"""

from __future__ import annotations

from urllib.parse import urlsplit

DEFAULT_PORTS = {"https": 443, "http": 80}


def plain(base_url: str) -> str | None:
    """Scheme, host, a port that is not the default, and path; None where that is no address.

    What stands before an @ is dropped: it names a user, never a host.

    >>> plain("HTTPS://API.Example.com:443/v1/"), plain("http://[::1]:8080"), plain("nowhere")
    ('https://api.example.com/v1', 'http://[::1]:8080', None)
    """
    try:
        parts = urlsplit(base_url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:  # a port that is no number, or brackets that are no IPv6 address
        return None
    if parts.scheme not in DEFAULT_PORTS or not host:
        return None
    host = f"[{host}]" if ":" in host else host
    shown = "" if port in (None, DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{shown}{parts.path.rstrip('/')}"
