"""Ask pip-audit for known vulnerabilities in the environment, and say plainly if it could not ask.

pip-audit ends well even where its service answered for no package at all; that is not a pass.
"""

import json
import subprocess
import sys

COMMAND = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner", "off"]


def main() -> int:
    """Return 1 if a vulnerability is known, else 0."""
    done = subprocess.run([*COMMAND, "--format", "json"], capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"NOT AUDITED: pip-audit could not run here ({reason[:200]})")
        return 0
    answered = [package for package in packages if "skip_reason" not in package]
    found = [(package, one) for package in answered for one in package["vulns"]]
    for package, one in found:
        fixed = ", ".join(one["fix_versions"]) or "no version yet"
        print(f"{package['name']} {package['version']}: {one['id']}, fixed in {fixed}")
    if not answered:
        print(f"NOT AUDITED: no answer for any of {len(packages)} packages; is pypi.org in reach?")
    else:
        print(f"{len(answered)} of {len(packages)} packages audited, {len(found)} vulnerabilities")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
