#!/usr/bin/python
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An Ansible module that returns what it is given: a check with a known result."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule


def main() -> None:
    module = AnsibleModule({"result": {"type": "dict", "required": True}}, supports_check_mode=True)
    module.exit_json(**module.params["result"])


if __name__ == "__main__":
    main()
