# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sessions whose credentials come from google-auth: application default, service account file, impersonation."""

from __future__ import annotations

from typing import Any, Tuple, Type

from .auth import Auth
from .errors import AuthError

try:
    import google.auth
    import google.auth.exceptions
    import google.auth.impersonated_credentials
    import google.oauth2.credentials
    import google.oauth2.service_account
    from google.auth.transport.requests import AuthorizedSession

    GOOGLE_AUTH_ERROR = ""
except ImportError as exc:
    GOOGLE_AUTH_ERROR = str(exc)

__all__ = ["google_session"]

SCOPES = ("https://www.googleapis.com/auth/compute",)
IMPERSONATOR_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


def google_session(auth: Auth) -> Tuple[Any, Tuple[Type[BaseException], ...]]:
    """The session, and the exceptions that it raises when a token cannot be had."""
    if GOOGLE_AUTH_ERROR:
        raise AuthError("auth_kind %s needs the Python library google-auth: %s" % (auth.kind, GOOGLE_AUTH_ERROR))
    try:
        return AuthorizedSession(_credentials(auth)), (google.auth.exceptions.GoogleAuthError,)
    except (google.auth.exceptions.GoogleAuthError, OSError, ValueError) as exc:
        raise AuthError("cannot get credentials (auth_kind %s): %s" % (auth.kind, exc)) from exc


def _credentials(auth: Auth) -> Any:
    scopes = IMPERSONATOR_SCOPES if auth.impersonate else SCOPES
    source: Any
    if auth.kind == "serviceaccount":
        path = auth.needed("service_account_file")
        source = google.oauth2.service_account.Credentials.from_service_account_file(path, scopes=scopes)
    elif auth.kind == "accesstoken":
        source = google.oauth2.credentials.Credentials(auth.needed("access_token"))
    else:
        source = google.auth.default(scopes=scopes)[0]
    if not auth.impersonate:
        return source
    return google.auth.impersonated_credentials.Credentials(
        source_credentials=source, target_principal=auth.impersonate, target_scopes=list(SCOPES)
    )
