# SPDX-License-Identifier: Apache-2.0
from postprocess.cli import main

main()
