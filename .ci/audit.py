"""Ask pip-audit for known vulnerabilities in the environment: ends with 1 if there are some.

pip-audit ends well even where its service answered for no package at all. That is no pass: this
says NOT AUDITED then, and ends with 2.
"""

import json
import subprocess
import sys

COMMAND = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner", "off"]


def main() -> int:
    """Return 1 if a vulnerability is known, 2 if nobody could be asked, else 0."""
    done = subprocess.run([*COMMAND, "--format", "json"], capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"NOT AUDITED: pip-audit could not run here ({reason[:200]})")
        return 2
    answered = [package for package in packages if "skip_reason" not in package]
    if not answered:
        print(f"NOT AUDITED: no answer for any of {len(packages)} packages; is pypi.org in reach?")
        return 2
    found = [(package, one) for package in answered for one in package["vulns"]]
    for package, one in found:
        fixed = ", ".join(one["fix_versions"]) or "no version yet"
        print(f"{package['name']} {package['version']}: {one['id']}, fixed in {fixed}")
    print(f"{len(answered)} of {len(packages)} packages audited, {len(found)} vulnerabilities")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
