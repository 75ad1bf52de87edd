"""Runs the tests of this folder; `run` is what to call."""
import sys

import harness
import claude_code  # noqa: F401
import command_line  # noqa: F401
import sdk  # noqa: F401
import sdk_v03  # noqa: F401

sys.exit(harness.main(sys.argv[1:]))
