# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong with the Compute API, as exceptions that name the request and the way out."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Tuple

from ..errors import ClusterError, ConfigError

__all__ = ["ApiError", "AuthError", "GceError", "MalformedAnswerError", "NoAnswerError", "OperationError", "api_error"]

# 403 has three meanings; only these reasons are a quota that refills by itself.
QUOTA_REASONS = ("rateLimitExceeded", "userRateLimitExceeded")
TEMPORARY = (408, 429, 500, 502, 503, 504)
REMEDIES = {
    "accessNotConfigured": "Enable the Compute Engine API in that project.",
    "SERVICE_DISABLED": "Enable the Compute Engine API in that project.",
    "forbidden": "Give the account the missing permission in that project.",
    "authError": "The token is wrong or has expired: get a new one.",
}


class GceError(ClusterError):
    """Base of what is raised on purpose while talking to Compute."""


class AuthError(GceError, ConfigError):
    """The credentials cannot be had or were refused."""


class NoAnswerError(GceError):
    """No answer in time, or a connection that broke, on every try."""


class MalformedAnswerError(GceError):
    """An answer that Compute cannot have given: a proxy's page, half a document, another API."""


class OperationError(GceError):
    """Accepted work that ended badly. ``code`` is stable (for example ZONE_RESOURCE_POOL_EXHAUSTED)."""

    def __init__(self, target: str, code: str, message: str) -> None:
        super().__init__("%s: %s: %s" % (target, code, message))
        self.target = target
        self.code = code


class ApiError(GceError):
    """Compute refused: HTTP status, its reason word and its message."""

    def __init__(self, request: str, status: int, reason: str, message: str, retry_after: Optional[float]) -> None:
        remedy = REMEDIES.get(reason, "")
        text = "%s: HTTP %d%s: %s" % (request, status, " (%s)" % reason if reason else "", message or "no message")
        super().__init__("%s %s" % (text.rstrip(), remedy) if remedy else text)
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after

    @property
    def temporary(self) -> bool:
        return self.status in TEMPORARY or (self.status == 403 and self.reason in QUOTA_REASONS)


def api_error(request: str, status: int, headers: Mapping[str, str], body: Any) -> ApiError:
    """Read an error answer of any shape: Google's, a proxy's HTML (``body`` is then text), or nothing."""
    reason, message = _reason(body)
    return ApiError(request, status, reason, message, _seconds(headers.get("Retry-After", "")))


def _reason(body: Any) -> Tuple[str, str]:
    if not isinstance(body, dict):
        return "", str(body or "")[:200]
    error = body.get("error")
    if not isinstance(error, dict):
        return "", str(error or body)[:200]
    reason = ""
    for detail in _dicts(error.get("details")) + _dicts(error.get("errors")):
        reason = str(detail.get("reason") or reason)
    return reason, str(error.get("message") or "")


def _dicts(value: Any) -> Tuple[Mapping[str, Any], ...]:
    return tuple(item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def _seconds(text: str) -> Optional[float]:
    """Retry-After in seconds; its date form does not occur in Google's answers and is taken as absent."""
    return float(text) if text.isdigit() else None
