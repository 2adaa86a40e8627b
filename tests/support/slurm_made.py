# SPDX-License-Identifier: Apache-2.0
"""A Slurm of the test's own: several nodes on this machine, no systemd. Either a plain one of equal nodes that trusts
everybody, or one as Debian ships it: munge, slurmdbd with enforced associations and QOS. Neither has an MpiDefault."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from builds import OPEN_MPI, good, run
from kernel_runs import wait_until
from links import NETWORK, SWITCH

PROGRAMS = ("slurmctld", "slurmd", "sinfo", "sbatch", "srun")
WITH_ACCOUNTING = ("slurmdbd", "mariadbd", "mariadb-install-db", "munged")
CONFIGURATION = """\
ClusterName=toy
SlurmctldHost=localhost({address})
SlurmUser=root
SlurmdUser=root
AuthType={auth}
CredType={credentials}
SlurmctldPort={port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool/%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=2,batch_sched_delay=0,defer_batch
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
{gathered}
{accounting}
SlurmdParameters=config_overrides
MinJobAge=300
InactiveLimit=0
KillWait=2
OverTimeLimit=0
PropagateResourceLimitsExcept=ALL
TmpFS={folder}/tmp/%n
EnforcePartLimits=NO
GresTypes=widget
NodeName=DEFAULT Boards=1 SocketsPerBoard=1 ThreadsPerCore=1 RealMemory=2000
PartitionName=DEFAULT State=UP
{machines}
"""
EQUAL = """\
NodeName=n[1-{all_nodes}] {here} Port=[{first}-{last}] CPUs={cores} CoresPerSocket={cores}
PartitionName=debug Nodes=n[1-{nodes}] Default=YES MaxTime=01:00:00
"""
# Nodes that are hosts on links of their own (links.py).
LINKED = """\
NodeName=n[1-{all_nodes}] NodeHostname=localhost NodeAddr={addresses} Port={first} CPUs={cores} CoresPerSocket={cores}
PartitionName=debug Nodes=n[1-{nodes}] Default=YES MaxTime=01:00:00
"""
# Unequal nodes and a limit of nodes in phat; nodes with a generic resource in wide, for a QOS of its own.
UNEQUAL = """\
NodeName=n[1-2] {here} Port=[{ports[0]}-{ports[1]}] CPUs=2 CoresPerSocket=2 Feature=thick
NodeName=n3 {here} Port={ports[2]} CPUs=1 CoresPerSocket=1 Feature=thin
NodeName=n4 {here} Port={ports[3]} CPUs=2 CoresPerSocket=2 Feature=thick Gres=widget:1
NodeName=n5 {here} Port={ports[4]} CPUs=2 CoresPerSocket=2 Feature=thick
PartitionName=debug Nodes=n[1-2] Default=YES MaxTime=00:20:00
PartitionName=phat Nodes=n[1-3],n5 MaxNodes=2 MaxTime=01:00:00
PartitionName=wide Nodes=n4 MaxTime=01:00:00
"""
NOTHING_GATHERED = "JobAcctGatherType=jobacct_gather/none"
ENERGY_GATHERED = """JobAcctGatherType=jobacct_gather/linux
AcctGatherEnergyType=acct_gather_energy/pm_counters
AcctGatherNodeFreq=1"""
# Slurm's plug-in reads the files of a Cray, below /sys, where nothing can be made: the daemons of the nodes have a /sys
# of their own, with everything of the machine's, and the made-up files.
WITH_CRAY = """mount --make-rprivate / && mount --rbind /sys {old} && mount -t tmpfs tmpfs /sys || exit
for part in {old}/*; do mkdir "/sys/${{part##*/}}" && mount --rbind "$part" "/sys/${{part##*/}}" || exit; done
mkdir /sys/cray && mount --bind {cray} /sys/cray && exec "$@"
"""
ENFORCED = "\nAccountingStorageEnforce=associations,limits,qos\nAccountingStorageTRES=gres/widget"
USER = "nobody"  # a normal user that every machine has: no limit applies to root
ACCOUNTS = (
    "sacctmgr -i add account physics,chemistry",
    "sacctmgr -i add qos wide MaxTRESPerJob=node=1 MinTRESPerJob=gres/widget=1",
    f"sacctmgr -i add user {USER} account=physics,chemistry defaultaccount=physics",
    f"sacctmgr -i modify user {USER} set qos+=wide",
    "scontrol update PartitionName=wide AllowQos=wide",
)
# Nodes of one host share its memory, and Open MPI must not believe that they share it with each other; and its cores:
# who waits, yields.
OVER_TCP = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_mpi_yield_when_idle": "1"}


@dataclass(frozen=True)
class Slurm:
    """A running Slurm; commands that begin with the words `within` find it through `environment`."""

    folder: Path
    nodes: int
    cores: int
    environment: dict
    within: tuple = ()

    def __call__(self, *command):
        """What one of Slurm's commands says."""
        return good(run([*self.within, *command], env=os.environ | self.environment)).stdout

    def states(self):
        return self("sinfo", "--noheader", "--Node", "--format=%N %t").split("\n")


def missing(accounting=False):
    """Why there can be no Slurm here, empty if there can."""
    if os.getuid() != 0:
        return "only root can start Slurm's daemons"
    absent = [program for program in PROGRAMS + WITH_ACCOUNTING * accounting if not shutil.which(program)]
    packages = f"slurm-wlm{', slurmdbd, mariadb-server and munge' * accounting}"
    return f"there is no {', '.join(absent)}; Debian has {packages}" if absent else ""


def free_ports(number):
    """The first of so many consecutive ports that are free now."""
    for first in range(26817 + os.getpid() % 500 * 10, 60000, number):
        try:
            for port in range(first, first + number):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise RuntimeError("no free ports")


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def slurm(folder, nodes=4, cores=4, accounting=False, machines=EQUAL, accounts=(), linked=None, cray=None):
    """Starts daemons in the folder, waits until all nodes are idle, and leaves nothing running. One node more is in no
    partition. With accounts, made by these commands, associations, limits and QOS are enforced. With `linked`, the
    nodes are the hosts of these links. With `cray`, a folder, Slurm's plug-in reads energy from files there."""
    all_nodes = nodes + 1
    for name in ("log", "state", "spool", "tmp", *(f"tmp/n{n}" for n in range(1, all_nodes + 1))):
        (folder / name).mkdir(parents=True)
    port = free_ports(all_nodes + 3)
    conf = folder / "slurm.conf"
    running = []

    def start(*command, **more):
        running.append(
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=(folder / "log" / "stderr").open("a"), **more)
        )

    environment = {"SLURM_CONF": str(conf), **OVER_TCP}
    within = linked.enter(linked.switch) if linked else ()
    try:
        stored = "AccountingStorageType=accounting_storage/none"
        if accounting:
            stored = start_accounting(folder, port + all_nodes + 1, start)
        node_ports = range(port + 1, port + all_nodes + 1)
        places = {"here": "NodeHostname=localhost NodeAddr=127.0.0.1", "addresses": f"{NETWORK}.[1-{all_nodes}]"}
        numbers = {"first": node_ports[0], "last": node_ports[-1], "ports": node_ports, "nodes": nodes, "cores": cores}
        values = {
            "machines": machines.format(**places, **numbers, all_nodes=all_nodes),
            "address": f"{NETWORK}.{SWITCH}" if linked else "127.0.0.1",
            "accounting": stored + ENFORCED * bool(accounts),
            "gathered": ENERGY_GATHERED if cray else NOTHING_GATHERED,
        }
        checked = "munge" if accounting else "none"
        values |= {"auth": f"auth/{checked}", "credentials": f"cred/{checked}"}
        conf.write_text(CONFIGURATION.format(folder=folder, port=port, **values))
        start(*within, "slurmctld", "-D", "-c", "-f", str(conf))
        for node in range(1, all_nodes + 1):
            where = linked.enter(linked.hosts[node - 1]) if linked else ()
            if cray:
                (folder / f"sys{node}").mkdir()
                where = ("unshare", "-m", "sh", "-c", WITH_CRAY.format(old=folder / f"sys{node}", cray=cray), "sh")
            start(*where, "slurmd", "-D", "-N", f"n{node}", "-f", str(conf))
        made = Slurm(folder, nodes, cores, environment, within)

        def idle():
            try:
                return len({state for state in made.states() if state.endswith(" idle")}) >= nodes
            except AssertionError:
                return False

        wait_until(idle, "nodes idle")
        for statement in accounts:
            made(*statement.split())
        try:
            yield made
        finally:  # jobs outlive the daemons
            made("scancel", "--me")
            wait_until(lambda: not made("squeue", "--noheader").strip(), "all jobs end")
    finally:
        for process in reversed(running):
            process.send_signal(signal.SIGTERM)
        for process in reversed(running):
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def start_accounting(folder, port, start):
    """munged, MariaDB and slurmdbd on ports and sockets of their own; what slurm.conf has to say of them."""
    database, socket_path, munge = folder / "database", folder / "mariadb.sock", folder / "munge"
    munge.mkdir(mode=0o755)
    (munge / "key").write_bytes(os.urandom(128))
    (munge / "key").chmod(0o400)
    for parent in (munge, *munge.parents):
        if parent.owner() == "root" and parent.stat().st_mode & 0o005 != 0o005 and str(parent).startswith("/tmp/"):
            parent.chmod(0o755)  # munged wants its socket's folder to be open to all
    files = [f"--{name}-file={munge}/{name}" for name in ("key", "pid", "log", "seed")]
    start("munged", "-F", "--force", f"--socket={munge}/socket", *files)
    user = pwd.getpwuid(os.getuid()).pw_name
    install = ["mariadb-install-db", f"--user={user}", f"--datadir={database}"]
    good(run([*install, "--auth-root-authentication-method=socket"]))
    where = [f"--user={user}", f"--datadir={database}", f"--socket={socket_path}", f"--port={port}"]
    start("mariadbd", "--no-defaults", *where, "--bind-address=127.0.0.1", "--innodb-buffer-pool-size=64M")
    wait_until(socket_path.exists, "MariaDB is up")
    statements = "CREATE DATABASE accounting;"
    for host in ("%", "localhost"):
        name = f"'slurm'@'{host}'"
        statements += f"CREATE USER {name} IDENTIFIED BY 'toy'; GRANT ALL ON accounting.* TO {name};"
    good(run(["mariadb", "--no-defaults", f"--socket={socket_path}", "-e", statements]))
    conf = folder / "slurmdbd.conf"
    conf.write_text(
        f"AuthType=auth/munge\nAuthInfo=socket={munge}/socket\nDbdHost=localhost\nDbdAddr=127.0.0.1\nDbdPort={port + 1}\n"  # noqa: E501
        f"SlurmUser=root\nStorageType=accounting_storage/mysql\nStorageHost=127.0.0.1\nStoragePort={port}\nStorageUser=slurm\n"
        f"StoragePass=toy\nStorageLoc=accounting\nLogFile={folder}/log/slurmdbd.log\nPidFile={folder}/slurmdbd.pid\n"
    )
    conf.chmod(0o600)
    both = {"SLURM_CONF": str(folder / "slurm.conf"), "SLURMDBD_CONF": str(conf)}
    start("slurmdbd", "-D", env=os.environ | both, cwd=folder)
    wait_until(lambda: answers(port + 1), "slurmdbd answers")  # slurmctld ends where it does not
    return (
        f"AuthInfo=socket={munge}/socket\nAccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\n"
        f"AccountingStoragePort={port + 1}\nAccountingStoragePass={munge}/socket"
    )


SETTINGS = """
site_configuration = {{
    "systems": [{{"name": "toy", "hostnames": [".*"], "partitions": [
        {{"name": name, "scheduler": {scheduler!r}, "launcher": launcher, "access": ["--partition=debug"], "environs": ["mpi"],
         "sched_options": {{"use_nodes_option": True}}, "max_jobs": 1,
         "env_vars": {variables!r} + more, "extras": {{"cores_per_node": 2, "num_nodes": {nodes}}}}}
        for name, launcher, more in (("mpirun", "mpirun", []), ("srun", "srun", [["SLURM_MPI_TYPE", "pmix"]]))]}}],
    "environments": [{{"name": "mpi", "cc": "mpicc"}}],
}}
"""  # noqa: E501


def settings(slurm, folder, scheduler="squeue"):
    """ReFrame's configuration of a plain Slurm, with a partition for each launcher."""
    path = folder / "toy.py"
    variables = [[name, value] for name, value in (OPEN_MPI | slurm.environment).items()]
    path.write_text(SETTINGS.format(variables=variables, nodes=slurm.nodes, scheduler=scheduler))
    return path
