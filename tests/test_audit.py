"""What `make audit` makes of pip-audit's answers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

AUDIT = Path(__file__).parents[1] / ".ci" / "audit.py"
SOUND = {"name": "numpy", "version": "2.0", "vulns": []}
VULNERABLE = {
    "name": "scipy",
    "version": "1.0",
    "vulns": [{"id": "CVE-1", "fix_versions": ["1.1"], "description": ""}],
}
SKIPPED = {"name": "joblib", "skip_reason": "could not be reached"}


@pytest.mark.parametrize(
    ("said", "ended", "code", "expected"),
    [
        ([SOUND], 0, 0, "1 of 1 packages audited, 0 vulnerabilities"),
        ([SOUND, SKIPPED], 0, 0, "1 of 2 packages audited, 0 vulnerabilities"),
        ([SOUND, VULNERABLE], 1, 1, "scipy 1.0: CVE-1, fixed in 1.1"),
        ([SKIPPED], 0, 2, "NOT AUDITED: no answer for any of 1 packages"),
        (None, 1, 2, "NOT AUDITED: pip-audit could not run here (no service)"),
    ],
)
def test_audit(tmp_path, said, ended, code, expected):
    answer = "" if said is None else json.dumps({"dependencies": said, "fixes": []})
    fake = f"import sys\nprint({answer!r})\nprint('no service', file=sys.stderr)\nsys.exit({ended})"
    (tmp_path / "pip_audit.py").write_text(fake)
    done = subprocess.run(
        [sys.executable, str(AUDIT)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (code, "")
    assert expected in done.stdout


def test_audit_without_pip_audit(tmp_path):
    (tmp_path / "pip_audit").mkdir()  # a package that cannot be run, as if there were none
    done = subprocess.run(
        [sys.executable, str(AUDIT)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stdout.startswith("NOT AUDITED: pip-audit could not run here")
