"""Where I/O checks put the files that they measure."""
import reframe as rfm
from reframe.core.builtins import run_after, variable

from .vocabulary import Extra


class TestedDirectory(rfm.RegressionTestPlugin):
    """Hands the kernel `--directory`: the one given with `-S <check>.directory=...`, else the partition's, else the stage directory,
    which is kept apart from other runs and removed by ReFrame."""

    directory = variable(str, value="", loggable=True)

    @run_after("setup")
    def set_directory(self):
        self.directory = self.directory or self.current_partition.extras.get(Extra.IO_DIRECTORY, self.stagedir)
        self.executable_opts += ["--directory", self.directory]
