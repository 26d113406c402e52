"""Jobs as they come: several steps, side by side, failing, signalled, with little on PATH."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from cluster import Cluster
from job import Job
from support import function_of, wrap_text

TWO_NODES = ("-N2", "--ntasks-per-node=2", "--partition=small-g")


def lumi(cluster: Cluster, *options: str, image: Path | None = None) -> tuple[str, ...]:
    container = str(image or cluster.pytorch_image)
    base = ("--profile", "lumi-g", "--runtime", "apptainer", "--fact", "rocm=6.2.4")
    return (*base, "--container", container, *options)


def write(workdir: Path, *options: str, name: str = "wrap.sh") -> None:
    made = wrap_text(*options)
    assert made.code == 0, made.err
    (workdir / name).write_bytes(made.out)
    (workdir / name).chmod(0o755)


def caches(cluster: Cluster, job: Job) -> list[str]:
    """Return what is left of the job's caches on the nodes."""
    found = (
        cluster.node(node, ["ls", "/tmp"]).stdout.split() for node in cluster.nodes
    )
    return [name for names in found for name in names if f"-{job.id}-" in name]


# The four ways to use a script


@pytest.mark.parametrize(
    "way",
    [
        "set -euo pipefail; source ./wrap.sh",
        "set -u; source <(cat wrap.sh)",
        'set -e; eval "$(cat wrap.sh)"',
        "exec ./wrap.sh",
    ],
)
def test_sourced_evaluated_or_run_it_does_the_same(
    cluster: Cluster, workdir: Path, way: str
) -> None:
    write(workdir, *lumi(cluster, "--", "sh", "-c", 'echo "rank $RANK"; exit $RANK'))
    job = cluster.sbatch(f"#!/bin/bash\n{way}\n", *TWO_NODES)
    assert job.state == "FAILED", job.stdout
    assert job.exit_code in (1, 2, 3)  # of the first that failed
    write(workdir, *lumi(cluster, "--", "sh", "-c", 'echo "rank $RANK"'))
    job = cluster.sbatch(f"#!/bin/bash\n{way}\n", *TWO_NODES)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert sorted(re.findall(r"^rank \d", job.stdout, re.M)) == [
        f"rank {n}" for n in range(4)
    ]
    assert caches(cluster, job) == []


def test_ranks_are_those_of_the_job_where_a_tool_has_dropped_its_size(
    cluster: Cluster, workdir: Path
) -> None:
    show = 'echo "rank $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE"'
    write(workdir, *lumi(cluster, "--", "sh", "-c", show))
    drop = 'for name in "${!SLURM_@}"; do [[ $name == SLURM_JOB_ID ]] || unset "$name"; done\n'
    again = "export SLURM_NNODES=2 SLURM_NTASKS_PER_NODE=2\n"
    for before in (drop, drop + again):  # by squeue; by tasks per node alone
        job = cluster.sbatch(f"#!/bin/bash\n{before}source ./wrap.sh\n", *TWO_NODES)
        assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
        assert sorted(re.findall(r"^rank .*", job.stdout, re.M)) == [
            f"rank {n} of 4, {n % 2} of 2" for n in range(4)
        ]
        told = "squeue shows nodes: 2, tasks: 4, cores of each: 1"
        assert (told in job.stdout) == (before == drop)


def test_the_script_itself_can_be_submitted(cluster: Cluster, workdir: Path) -> None:
    write(workdir, *lumi(cluster, "--", "sh", "-c", "echo rank $RANK; exit 7"))
    one = ("-N1", "-n1", "--partition=small-g")  # nobody else that srun would end
    job = cluster.sbatch((workdir / "wrap.sh").read_text(), *one)
    assert (job.state, job.exit_code) == ("FAILED", 7), job.stdout


def test_steps_share_caches_and_have_their_own_ports(
    cluster: Cluster, workdir: Path
) -> None:
    write(workdir, *lumi(cluster))
    job = cluster.sbatch(
        "#!/bin/bash\nset -euo pipefail\nsource ./wrap.sh\nsource ./wrap.sh\n"
        "envcfg_run sh -c 'echo warm >\"$MIOPEN_USER_DB_PATH/$RANK\"; echo port $MASTER_PORT'\n"
        "envcfg_run sh -c 'cat \"$MIOPEN_USER_DB_PATH/$RANK\"; echo port $MASTER_PORT'\n",
        *TWO_NODES,
    )
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert job.stdout.count("warm\n") == 4
    assert len(set(re.findall(r"port (\d+)", job.stdout))) == 2
    assert caches(cluster, job) == []


@pytest.mark.nightly
def test_jobs_on_the_same_nodes_do_not_meet(cluster: Cluster, workdir: Path) -> None:
    show = (
        'echo "$MASTER_PORT $ENVCFG_CACHE"; touch "$MIOPEN_USER_DB_PATH/x"; sleep 3; '
    )
    show += 'rm "$MIOPEN_USER_DB_PATH/x" 2>/dev/null; ls -d "$ENVCFG_CACHE"'
    write(workdir, *lumi(cluster, "--", "sh", "-c", show))
    jobs = [
        cluster.submit(
            "#!/bin/bash\nsource ./wrap.sh\n", "-N2", "-n2", "--partition=small-g"
        )
        for _ in range(2)
    ]
    done = [job.wait(timeout=60) for job in jobs]
    assert [(job.state, job.nodes) for job in done] == [
        ("COMPLETED", "nid[001000-001001]")
    ] * 2, done[0].stdout
    found = [set(re.findall(r"^(\d+) (/tmp/\S+)", job.stdout, re.M)) for job in done]
    assert [len(each) for each in found] == [2, 2]  # one port, a cache on each node
    ports = [{port for port, _ in each} for each in found]
    assert [len(each) for each in ports] == [1, 1]
    assert not ports[0] & ports[1]
    assert not {cache for _, cache in found[0]} & {cache for _, cache in found[1]}
    left = [caches(cluster, job) for job in done]
    assert left == [[], []], [job.stdout for job in done]


# Failures


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--profile lumi --container x.sif -- true", "did you mean 'lumi-g'?"),
        ("--profile lumi-g -- true", "--container"),
        ("--profile lumi-g --container none true", "true"),
        ("--profile lumi-g --container none --set A -- true", "'A' is not NAME=VALUE"),
    ],
)
@pytest.mark.parametrize(
    "way", ["source <(envcfg wrap {})", 'eval "$(envcfg wrap {})"']
)
def test_a_wrap_that_fails_fails_the_job(
    cluster: Cluster, tool: Path, way: str, arguments: str, message: str
) -> None:
    job = cluster.sbatch(
        f"#!/bin/bash\nPATH={tool}:$PATH\n{way.format(arguments)}\necho goes on\n",
        "-N1",
    )
    assert (job.state, job.exit_code) == ("FAILED", 2), job.stdout
    assert message in job.stdout
    assert "goes on" not in job.stdout


def test_the_first_rank_that_fails_ends_the_step(
    cluster: Cluster, workdir: Path
) -> None:
    program = 'if [ "$RANK" = 3 ]; then exit 3; fi; exec sleep 60'
    write(workdir, *lumi(cluster, "--", "sh", "-c", program))
    job = cluster.sbatch("#!/bin/bash\nsource ./wrap.sh\n", *TWO_NODES, timeout=30)
    assert (job.state, job.exit_code) == ("FAILED", 3), job.stdout
    assert "task 3: Exited with exit code 3" in job.stdout
    assert cluster.left_running() == []
    assert caches(cluster, job) == []


def test_faults_of_the_job_are_found_before_srun(
    cluster: Cluster, workdir: Path
) -> None:
    options = lumi(
        cluster, "--bind", "/nowhere:/data", "--", "true", image=workdir / "x.sif"
    )
    write(workdir, *options)
    job = cluster.sbatch("#!/bin/bash\nset -e\nsource ./wrap.sh\n", "-N2")
    assert (job.state, job.exit_code) == ("FAILED", 4)
    assert "bind source /nowhere does not exist on nid001000" in job.stdout
    assert "x.sif does not exist on nid001000" in job.stdout
    assert "srun:" not in job.stdout


# Signals


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("TERM", ()),
        ("USR1", ()),
        # the batch script alone: it passes the signal on to srun, which passes it on
        # (SIGTERM it does not: that ends a step at once)
        ("USR1", ("--batch",)),
    ],
)
def test_a_signal_reaches_the_python_program(
    cluster: Cluster, programs: Path, workdir: Path, name: str, options: tuple[str, ...]
) -> None:
    write(workdir, *lumi(cluster, "--", "python3", str(programs / "wait.py")))
    job = cluster.submit("#!/bin/bash\nexec ./wrap.sh\n", *TWO_NODES)
    job.wait_output("ready\n", count=4)
    job.cancel(f"--signal={name}", *options)
    job.wait(timeout=30)
    assert sorted(re.findall(r"rank \d got \w+", job.stdout)) == [
        f"rank {rank} got SIG{name}" for rank in range(4)
    ], job.stdout
    assert job.state == "FAILED"
    assert job.exit_code == {"TERM": 55, "USR1": 50}[name]
    assert cluster.left_running() == []


def test_a_job_that_is_cancelled_leaves_no_process(
    cluster: Cluster, programs: Path, workdir: Path
) -> None:
    write(workdir, *lumi(cluster, "--", "python3", str(programs / "wait.py")))
    job = cluster.submit("#!/bin/bash\nsource ./wrap.sh\n", *TWO_NODES)
    job.wait_output("ready\n", count=4)
    job.cancel()
    assert job.wait(timeout=40).state == "CANCELLED"
    assert cluster.left_running() == []


# Caches


def test_caches_are_private_on_each_node_and_gone_afterwards(
    cluster: Cluster, workdir: Path
) -> None:
    show = (
        'stat -c "%a %u %n" "$ENVCFG_CACHE" "$MIOPEN_USER_DB_PATH" "$TRITON_CACHE_DIR"'
    )
    write(workdir, *lumi(cluster, "--", "sh", "-c", show))
    job = cluster.sbatch("#!/bin/bash\numask 002\nsource ./wrap.sh\n", *TWO_NODES)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    lines = re.findall(r"^(\d+) (\d+) (/tmp/envcfg-\S+)$", job.stdout, re.M)
    assert len(lines) == 12
    assert {mode for mode, _, _ in lines} == {"700"}
    assert len({uid for _, uid, _ in lines}) == 1
    roots = {path for _, _, path in lines if path.count("/") == 2}
    (uid,) = {uid for _, uid, _ in lines}
    for node in cluster.nodes:
        pattern = rf"/tmp/envcfg-{uid}-{job.id}-\d+[.]0-{node}"
        assert any(re.fullmatch(pattern, root) for root in roots)
    assert caches(cluster, job) == []


@pytest.mark.nightly
def test_caches_go_even_while_a_step_holds_the_job_s_memory(
    cluster: Cluster, workdir: Path
) -> None:
    write(workdir, *lumi(cluster))
    job = cluster.sbatch(
        "#!/bin/bash\nset -eu\nsource ./wrap.sh\nenvcfg_run sh -c 'echo $ENVCFG_CACHE'\n"
        "srun -n2 sleep 4 &\nsleep 2\nenvcfg_end\nsrun --overlap --mem=0 -N2 -n2 ls /tmp\nwait\n",
        *("-N2", "-n2", "--partition=small-g", "--mem-per-cpu=1000"),
    )
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert f"-{job.id}-" in job.stdout
    assert not re.search(rf"^envcfg-\d+-{job.id}-", job.stdout, re.M), job.stdout


def test_a_cancelled_job_removes_the_caches_of_its_first_node(
    cluster: Cluster, workdir: Path
) -> None:
    write(workdir, *lumi(cluster, "--", "sh", "-c", "echo ready; exec sleep 600"))
    script = "#!/bin/bash\nsource ./wrap.sh\n"
    job = cluster.submit(script, *TWO_NODES)
    job.wait_until(lambda job: job.stdout.count("ready\n") == 4, timeout=60)
    first, second = sorted(caches(cluster, job))
    job.cancel()
    job.wait_output("on all nodes")
    assert first.endswith(f"-{cluster.nodes[0]}")
    assert caches(cluster, job) == [second]
    cluster.node(cluster.nodes[1], ["rm", "-rf", f"/tmp/{second}"])


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["link", "foreign folder"])
def test_what_stands_in_a_cache_s_place_on_one_node_is_refused(
    cluster: Cluster, workdir: Path, kind: str
) -> None:
    write(workdir, *lumi(cluster, "--", "echo", "started"))
    job = cluster.submit(
        "#!/bin/bash\necho base=/tmp/envcfg-$UID-$SLURM_JOB_ID-$$.0\n"
        "until [[ -e go ]]; do sleep 0.1; done\nsource ./wrap.sh\n",
        *TWO_NODES,
    ).wait_output("base=/tmp/")
    found = re.search(r"base=(\S+)", job.stdout)
    assert found
    place = f"{found[1]}-{cluster.nodes[1]}"
    make = {"link": ["ln", "-s", "/etc", place], "foreign folder": ["mkdir", place]}[
        kind
    ]
    assert cluster.node(cluster.nodes[1], make).returncode == 0
    (workdir / "go").touch()
    try:
        job.wait(timeout=40)
        assert job.state == "FAILED"
        assert job.exit_code in (4, 143), (
            job.stdout
        )  # the other rank's, if srun ends it
        assert f"{place} is not a folder of yours" in job.stdout
    finally:
        cluster.node(cluster.nodes[1], ["rm", "-rf", place])


# Little on PATH, little in the image


@pytest.mark.parametrize(
    "clean", [(), ("--runtime-arg=--cleanenv",)], ids=["", "cleanenv"]
)
def test_a_bare_node_and_a_bare_image_are_enough(
    cluster: Cluster, workdir: Path, clean: tuple[str, ...]
) -> None:
    """PATH has neither envcfg nor Python nor scontrol; the image has busybox's sh."""
    show = (
        'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK $MASTER_ADDR"'
    )
    options = lumi(cluster, *clean, "--", "sh", "-c", show, image=cluster.busybox_image)
    write(workdir, *options)
    tools = workdir / "bin"
    tools.mkdir()
    for name in ("bash", "srun", "apptainer", "rm"):
        found = cluster.run(["which", name]).stdout.strip()
        (tools / name).symlink_to(found)
    job = cluster.sbatch(
        f"#!/bin/bash\nset -euo pipefail\nexport PATH={tools}\n"
        "! type -P python3 || exit 9\n! type -P scontrol || exit 9\nsource ./wrap.sh\n",
        "-N2",
        "--ntasks=3",
        "--partition=small-g",
    )
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert sorted(re.findall(r"^\d/.*$", job.stdout, re.M)) == [
        "0/3 0/2 0 nid001000",
        "1/3 1/2 0 nid001000",
        "2/3 0/1 1 nid001000",
    ]
    assert caches(cluster, job) == []


def random_list(random: Random) -> str:
    """Return a node list: names, brackets of numbers and ranges, suffixes, commas."""

    def number() -> str:
        first, width = random.randrange(200), random.randint(1, 5)
        last = first + random.randrange(20)
        single = random.random() < 0.5
        return f"{first:0{width}}" if single else f"{first:0{width}}-{last:0{width}}"

    def part() -> str:
        text = ""
        for _ in range(random.randint(1, 2)):
            text += random.choice(["nid", "x", "c0-s", "gpu-a100-", "n"])
            text += f"[{','.join(number() for _ in range(random.randint(1, 3)))}]"
        return text if random.random() < 0.7 else f"login{random.randrange(9)}"

    return ",".join(part() for _ in range(random.randint(1, 3)))


@pytest.mark.nightly
def test_the_first_node_is_that_of_scontrol(cluster: Cluster, workdir: Path) -> None:
    """Random lists, and those of real systems; order is kept.

    Suffixes behind brackets are for Slurm 23.11; tests/launch has them.
    """
    lists = [
        "nid[005001,005007-005009]", "nid[005003,005001]", "b2,b1,a1", "node[9-11]",
        "gpu7,nid[005001-005002]", "gpu-a100-[01-04]",
    ]  # fmt: skip

    random = Random(20261121)
    lists += [random_list(random) for _ in range(300)]
    (workdir / "lists").write_text("".join(f"{each}\n" for each in lists))
    (workdir / "compare.sh").write_text(
        function_of("srun", "envcfg_first_node") + "\nwhile read -r list; do\n"
        '  envcfg_first_node "$list"\n'
        '  { read -r first; } < <(scontrol show hostnames "$list")\n'
        '  echo "$list $first $envcfg_node"\n'
        "done <lists\n"
    )
    done = cluster.run(["bash", "compare.sh"], cwd=workdir, timeout=120)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == len(lists)
    assert [line for line in lines if len(line) != 3 or line[1] != line[2]] == []
