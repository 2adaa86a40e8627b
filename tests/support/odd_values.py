# SPDX-License-Identifier: Apache-2.0
"""What people and broken programs write where something else is expected, for tests/cli/test_fuzz_commands.py."""

import json

import hypothesis.strategies as st

PLAIN = """0 -1 1 3 12 nan inf -inf 1e400 1e-320 0x10 1_0 x = , a,b x=y * [ (?P< -- - ü {} null
b_eff b_eff=1 b_eff=nan b_eff=1e308 b_eff= local default local:default failed changes 0000-00-00 0001-01-01 9999-12-31
2026-01-08 2026-02-30 2026-01-08T24:00:00 2026-01-08T03:04:05 system=a,b system=local,local session=0,1
time=0000-00-00,9999-99-99 time=2026-01-08,2026-01-08 time=2300-01-01,2300-01-01 partition=local:default,local:default
environ=mpi,mpi file_system=,"""
WORDS = [*PLAIN.split(), "", " ", "9" * 400, "\x1b[2J", "\udcff", "a" * 300]
PATHS = "out.html new/out.html file/out.html folder . /dev/full /dev/null"
OUTPUTS = [*PATHS.split(), "", "a" * 300, "n" * 250 + "/x"]
NESTED = json.loads("[" * 500 + "]" * 500)
NUMBERS = [0, -1, 1, 2**31, 2**63 - 1, 1.5, -0.0, 1e18, -1e18, 1e308, 5e-324, 253402300799, 9007199254]
LISTS = [[], {}, [[]], {"": {}}, [None], [1, 2, 3, 4, 5, 6], {"b_eff": None}]
TEXTS = "x 1 nan b_eff pass fail skip local:default:b_eff /dev/zero % ../.."
LONG_TEXTS = ["", "\x00", "é\u2028", "a" * 1000, "0" * 64]
VALUES = st.sampled_from([NESTED, None, True, False, *NUMBERS, *LISTS, *TEXTS.split(), *LONG_TEXTS])
