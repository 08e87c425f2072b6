# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Options that everything which talks to Google Compute Engine shares."""

    # Who asks, and where: inventory plugin and modules.
    DOCUMENTATION = r"""
options:
  auth_kind:
    description:
      - Where credentials come from.
      - V(application) takes the application default credentials of this machine or environment.
      - V(anonymous) sends none, for a fake API or a proxy that adds its own.
    type: str
    choices: [application, serviceaccount, accesstoken, anonymous]
    default: application
  service_account_file:
    description: Path of the service account's JSON key, for O(auth_kind=serviceaccount).
    type: path
  access_token:
    description: An OAuth2 access token, for O(auth_kind=accesstoken). Better in the environment than in a file.
    type: str
  impersonate_service_account:
    description: E-mail address of a service account to act as. The account of O(auth_kind) must be allowed to.
    type: str
  api_endpoint:
    description: Where the API is. Plain V(http://) is taken only for this very machine, or with O(auth_kind=anonymous).
    type: str
    default: https://compute.googleapis.com
  request_timeout:
    description: Seconds of silence after which one request is given up.
    type: float
    default: 60
  request_deadline:
    description:
      - Seconds after which a request is given up with all its tries.
      - Tries are repeated, with growing pauses, after time-outs, broken connections, 408, 429, 5xx and a quota that
        refills (403 with reason C(rateLimitExceeded)); C(Retry-After) is kept to. Nothing else is repeated.
    type: float
    default: 180
"""

    # What modules have on top.
    MODULE = r"""
options:
  project:
    description: Project that the resource belongs to.
    type: str
    required: true
  wait_timeout:
    description:
      - Seconds to wait for an operation. One that takes longer goes on by itself; running again picks it up.
    type: float
    default: 600
  poll_interval:
    description: Seconds that pass at least between two questions about an operation.
    type: float
    default: 2
requirements:
  - requests
  - google-auth, for O(auth_kind=application), O(auth_kind=serviceaccount) and O(impersonate_service_account)
notes:
  - Runs where the credentials are, so give it C(delegate_to=localhost) or a local play.
"""
