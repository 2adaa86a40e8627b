"""Where I/O checks put the files that they measure."""
import reframe as rfm
from reframe.core.builtins import run_after, variable
from reframe.core.exceptions import ReframeError

from .vocabulary import Extra


class TestedDirectory(rfm.RegressionTestPlugin):
    """Hands the kernel `--directory`: the one given with `-S <check>.directory=...`, else that of the partition's file system
    `-S <check>.file_system=NAME` (the first one where none is named), else the stage directory, which is kept apart from other runs
    and removed by ReFrame. The job gets the directives that the file system needs.

    `-P <check>.file_system=NAME,NAME,...` measures several, one after the other.
    """

    directory = variable(str, value="", loggable=True)
    file_system = variable(str, value="", loggable=True)
    least_bytes = variable(int, value=0, loggable=True)  # what the run needs there, as far as that is known before it starts

    @run_after("setup")
    def set_directory(self):
        chosen = {} if self.directory else self._file_system()
        self.directory = self.directory or chosen.get("directory", self.stagedir)
        self.file_system = chosen.get("name", "")
        self.job.options = [*self.job.options, *chosen.get("options", ())]
        self.executable_opts += ["--directory", self.directory]

    def _file_system(self):
        """The partition's entry of that name, {} where the partition has none and none was asked for."""
        known = {entry["name"]: entry for entry in self.current_partition.extras.get(Extra.FILE_SYSTEMS, ())}
        if not self.file_system:
            return next(iter(known.values()), {})
        if self.file_system not in known:
            raise ReframeError(f"partition {self.current_partition.fullname} has no file system {self.file_system!r}: its extras "
                               f"know {', '.join(known) or 'none'}")
        return known[self.file_system]
