# SPDX-License-Identifier: Apache-2.0
"""The check b_eff_load: where it runs, and with which options of the kernel."""

import pprint


def site(folder, **features):
    """A configuration of batch partitions with these features."""
    common = {"scheduler": "slurm", "launcher": "srun", "environs": ["mpi"]}
    extras = {"num_nodes": 8, "cores_per_node": 64}
    partitions = [common | {"name": name, "extras": extras, "features": of} for name, of in features.items()]
    settings = {
        "systems": [{"name": "made", "hostnames": [".*"], "partitions": partitions}],
        "environments": [{"name": "mpi", "features": ["mpi"]}],
    }
    path = folder / "settings.py"
    path.write_text(f"site_configuration = {pprint.pformat(settings)}\n")
    return path


def test_load_is_generated_only_where_the_site_allows_it_and_on_four_nodes_or_more(reframe, tmp_path):
    config = site(tmp_path, quiet=[], loaded=["load"])
    options = ["-S", "b_eff_load.load=incast", "-S", "b_eff_load.victims=60%"]
    session = reframe("--dry-run", "--warn-as-error", "-n", "b_eff_load", *options, config=config)
    assert session.returncode == 0, session.output
    stage = reframe.folder / "stage" / "made"
    texts = [path.read_text() for path in stage.glob("*/mpi/b_eff_load_*/rfm_job.sh")]
    assert not list(stage.glob("quiet/mpi/b_eff_load_*"))
    assert sorted(int(text.split("--ntasks=")[1].split()[0]) for text in texts) == [256, 512], texts
    assert all("--load incast --victims 60%" in text for text in texts)
    assert session.output.count("requires at least 4 nodes") == 2
