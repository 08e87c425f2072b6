# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP with credentials, on ``requests``. Imported only by what really asks: a cached inventory does without.

Certificates are verified; REQUESTS_CA_BUNDLE and HTTPS_PROXY work as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple, Type

from .auth import AUTH_KINDS, Auth
from .errors import AuthError, NoAnswerError

try:
    import requests
    import requests.adapters

    REQUESTS_ERROR = ""
except ImportError as exc:
    REQUESTS_ERROR = str(exc)

__all__ = ["HttpResponse", "HttpSession", "open_session"]


@dataclass(frozen=True)
class HttpResponse:
    status: int
    headers: Mapping[str, str]
    content: bytes


class HttpSession:
    """A requests session whose failures are ours. May be used by several threads at once."""

    def __init__(self, session: Any, auth_errors: Tuple[Type[BaseException], ...] = ()) -> None:
        self._session = session
        self._auth_errors = auth_errors

    def request(
        self, method: str, url: str, params: Optional[Mapping[str, str]], body: Optional[Any], timeout: float
    ) -> HttpResponse:
        try:
            answer = self._session.request(
                method,
                url,
                params=params,
                json=body,
                timeout=timeout,
                allow_redirects=False,  # Compute never redirects, and a token must not follow
            )
        except requests.exceptions.SSLError as exc:
            raise AuthError("%s %s: the certificate is not trusted: %s" % (method, url, exc)) from exc
        except requests.exceptions.RequestException as exc:
            raise NoAnswerError("%s %s: no answer: %s" % (method, url, _short(exc))) from exc
        except self._auth_errors as exc:
            raise AuthError("%s %s: cannot get credentials: %s" % (method, url, exc)) from exc
        return HttpResponse(answer.status_code, answer.headers, answer.content)


class _Bearer:
    """The token as a requests auth callable: set on the session it also wins over ~/.netrc."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: Any) -> Any:
        request.headers["Authorization"] = "Bearer " + self._token
        return request


def open_session(auth: Auth, connections: int = 8) -> HttpSession:
    """A session for ``connections`` threads."""
    if REQUESTS_ERROR:
        raise AuthError("talking to Compute needs the Python library requests: %s" % REQUESTS_ERROR)
    if auth.kind not in AUTH_KINDS:
        raise AuthError("auth_kind %r is not known; choose one of %s" % (auth.kind, ", ".join(AUTH_KINDS)))
    session: Any = requests.Session()
    auth_errors: Tuple[Type[BaseException], ...] = ()
    if auth.kind == "accesstoken" and not auth.impersonate:
        session.auth = _Bearer(auth.needed("access_token"))
    elif auth.kind != "anonymous":
        from .google_credentials import google_session  # noqa: PLC0415 - slow, and only some kinds need it

        session, auth_errors = google_session(auth)
    adapter = requests.adapters.HTTPAdapter(pool_connections=connections, pool_maxsize=connections, max_retries=0)
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    return HttpSession(session, auth_errors)


def _short(exc: BaseException) -> str:
    """The cause in a few words; the library's own text repeats the address three times."""
    reason = getattr(exc.args[0], "reason", exc) if exc.args else exc
    return "%s: %.200s" % (type(exc).__name__, reason)
