# SPDX-License-Identifier: Apache-2.0
"""What sites share. A package, like every site's folder: ReFrame then resolves their imports of each other from any
working directory."""
