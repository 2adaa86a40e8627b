# SPDX-License-Identifier: Apache-2.0
from coffeecup.postprocess.cli import main

main()
