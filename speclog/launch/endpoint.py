"""The few requests the supervisor makes to the server itself."""

import http.client
import json
import urllib.error
import urllib.request
from typing import Any

_PROXYLESS = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Endpoint:
    """A server by host and port, with its API key if it has one."""

    def __init__(self, host: str, port: int, api_key: str = "") -> None:
        self.host = "127.0.0.1" if host in ("", "0.0.0.0", "::") else host
        self.port = port
        self.api_key = api_key

    def healthy(self, timeout_s: float = 5.0) -> bool:
        """Whether /health answers 200."""
        try:
            self._request("/health", "GET", timeout_s)
        except (OSError, http.client.HTTPException):
            return False
        return True

    def flush_cache(self) -> bool:
        """Empty the prefix cache; False when the server did not."""
        try:
            self._request("/flush_cache", "POST", 60.0)
        except (OSError, http.client.HTTPException):
            return False
        return True

    def server_info(self) -> dict[str, Any] | None:
        """The server's account of itself (/server_info, or its older name); None when it does not tell."""
        for path in ("/server_info", "/get_server_info"):
            try:
                told = json.loads(self._request(path, "GET", 60.0))
            except (OSError, http.client.HTTPException, ValueError):
                continue
            if isinstance(told, dict):
                return told
        return None

    def _request(self, path: str, method: str, timeout_s: float) -> bytes:
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        request = urllib.request.Request(
            f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}{path}",
            method=method,
            headers=headers,
        )
        with _PROXYLESS.open(request, timeout=timeout_s) as answer:
            body: bytes = answer.read()
            return body
