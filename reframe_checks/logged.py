"""What ReFrame writes of a test for each line of its logs."""
import reframe as rfm


class LoggedOnce(rfm.RegressionTestPlugin):
    """Every loggable attribute but `variables`, the old name of `env_vars`: each time it is asked for, ReFrame 4.10.4 searches the call
    stack for who to warn of it, which takes longer than all else in a dry run."""

    @classmethod
    def loggable_attrs(cls):
        return [(name, alias) for name, alias in type(cls).loggable_attrs(cls) if name != "variables"]
