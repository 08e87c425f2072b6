# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every gce_ module shares: the options of who asks and where, the client, and errors as failures."""

from __future__ import annotations

from typing import Any, Callable, Dict

from ansible.module_utils.basic import AnsibleModule, env_fallback

from ..errors import ClusterError
from .auth import AUTH_KINDS, DEFAULT_ENDPOINT, Auth, check_endpoint
from .client import Compute, Policy
from .http import open_session
from .state import Manner

__all__ = ["argument_spec", "connect", "manner", "run"]


def argument_spec(**own: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
    """The module's own options and the shared ones."""
    return {
        "project": {"type": "str", "required": True},
        "auth_kind": {
            "type": "str",
            "choices": list(AUTH_KINDS),
            "default": "application",
            "fallback": (env_fallback, ["GCP_AUTH_KIND"]),
        },
        "service_account_file": {"type": "path", "fallback": (env_fallback, ["GCP_SERVICE_ACCOUNT_FILE"])},
        "access_token": {"type": "str", "no_log": True, "fallback": (env_fallback, ["GCP_ACCESS_TOKEN"])},
        "impersonate_service_account": {"type": "str"},
        "api_endpoint": {
            "type": "str",
            "default": DEFAULT_ENDPOINT,
            "fallback": (env_fallback, ["GPUFLEET_GCE_ENDPOINT"]),
        },
        "request_timeout": {"type": "float", "default": 60},
        "request_deadline": {"type": "float", "default": 180},
        "wait_timeout": {"type": "float", "default": 600},
        "poll_interval": {"type": "float", "default": 2},
        **own,
    }


def connect(params: Dict[str, Any]) -> Compute:
    auth = Auth(
        params["auth_kind"],
        params["service_account_file"],
        params["access_token"],
        params["impersonate_service_account"],
    )
    endpoint = check_endpoint(params["api_endpoint"], auth)
    policy = Policy(timeout=params["request_timeout"], deadline=params["request_deadline"])
    return Compute(open_session(auth), endpoint, policy)


def manner(module: AnsibleModule) -> Manner:
    return Manner(module.check_mode, module.params["wait_timeout"], module.params["poll_interval"])


def run(module: AnsibleModule, work: Callable[[Compute], Dict[str, Any]]) -> None:
    """Do the work and end the module; what is raised on purpose becomes its failure message."""
    try:
        result = work(connect(module.params))
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    module.exit_json(**result)
