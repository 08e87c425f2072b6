# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who asks, and where. Pure: nothing is imported or opened here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional
from urllib.parse import urlsplit

from .errors import AuthError

__all__ = ["AUTH_KINDS", "DEFAULT_ENDPOINT", "Auth", "check_endpoint"]

DEFAULT_ENDPOINT = "https://compute.googleapis.com"
AUTH_KINDS = ("application", "serviceaccount", "accesstoken", "anonymous")
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Auth:
    """``anonymous`` sends no credentials at all: for a fake, or a proxy that adds its own."""

    kind: str = "application"
    service_account_file: Optional[str] = None
    access_token: Optional[str] = None
    impersonate: Optional[str] = None

    def needed(self, option: str) -> str:
        """The option's value, which this kind cannot do without."""
        value = getattr(self, option)
        if not value:
            raise AuthError("auth_kind %s needs the option %s" % (self.kind, option))
        return str(value)

    def __repr__(self) -> str:
        return "Auth(kind=%r)" % self.kind  # never the token


def check_endpoint(endpoint: str, auth: Auth) -> str:
    """The endpoint without a trailing slash. Credentials never go over plain HTTP, except to this very machine."""
    url = urlsplit(endpoint)
    if url.scheme not in ("https", "http") or not url.hostname:
        raise AuthError("api_endpoint %r is not a URL: write https://HOST" % endpoint)
    if url.scheme == "http" and url.hostname not in LOOPBACK and auth.kind != "anonymous":
        raise AuthError("api_endpoint %r is not encrypted: credentials go only to https:// or to loopback" % endpoint)
    return endpoint.rstrip("/")
