#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Records logs of this folder anew: tests/kernel_logs/record.sh [NAME...], as root, with Open MPI and the kernels of
# build/kernels. Mounts of its own give short paths, so that nothing has to be changed in a log.
set -euo pipefail
[ "${OWN_MOUNTS:-}" ] || OWN_MOUNTS=1 exec unshare --mount "$0" "$@"

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
work=$(mktemp -d "$root/build/record.XXXXXX")
trap 'cd / && umount --lazy /mnt && rm -rf "$work"' EXIT
mount -t tmpfs none /opt
mkdir -p /opt/coffeecup/bin
for kernel in b_eff_load b_eff_io b_eff_io_load ftio priomark; do cp "$root/build/kernels/$kernel/$kernel" /opt/coffeecup/bin; done
cc -shared -fPIC -o /opt/coffeecup/lustre.so "$root/tests/support/faults/lustre.c"
mount --bind "$work" /mnt
cd /mnt
export PATH=/opt/coffeecup/bin:$PATH OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=/tmp

on_nodes() { # "NAME PROCESSES [VARIABLE=VALUE]" of each node, --, the command
    local parts=() names=()
    while [ "$1" != -- ]; do names+=("$1"); shift; done
    shift
    for name in "${names[@]}"; do
        read -r node processes variable <<<"$name"
        parts+=(: -np "$processes" env SLURMD_NODENAME="$node" ${variable:+"$variable"} "$@")
    done
    mpirun "${parts[@]:1}"
}

counting() { # DIRECTORY: a node of which files count, ten times a second
    local bytes=0 energy=340000000 device="$1/proc/net/dev" zone="$1/sys/class/powercap/intel-rapl:0"
    mkdir -p "$1/proc/net" "$zone"
    echo package-0 >"$zone/name"
    echo 1000000000 >"$zone/max_energy_range_uj"
    while sleep 0.1; do
        echo $((energy = (energy + 50000000) % 1000000000)) >"$zone/new" && mv "$zone/new" "$zone/energy_uj"
        printf ' |\n |\n eth0: %d 11 0 2 0 0 0 0 %d 12 0 3 0 0 0 0\n' $((bytes += 4000)) "$bytes" >"$device.new"
        mv "$device.new" "$device"
    done
}

short="--largest-chunk 1MiB --alignment 8 --scheduled-time 0.3 --space-limit 4GiB --cache-size 1MiB"
# shellcheck disable=SC2086
record() {
    case $1 in
    b_eff_load)
        on_nodes "a 2" "b 1" "c 1" "d 1" "e 1" -- b_eff_load --kinds incast,broadcast --victims 40% --memory-per-process 1MiB \
            --repetitions 2 --random-patterns 1 --longest-loop 2 --time-budget 2000 --log "$1.jsonl"
        ;;
    b_eff_load-io)
        on_nodes "node1 1" "node2 1" "node3 1" "node4 1" -- b_eff_load --kinds incast,io --memory-per-process 1MiB \
            --repetitions 1 --random-patterns 2 --first-loop-length 2 --longest-loop 4 --time-budget 86400 --directory . \
            --log "$1.jsonl"
        ;;
    b_eff_io_load)
        on_nodes "node1 2" "node2 1" "node3 1" "node4 1" "node5 1" -- b_eff_io_load --kinds read,write --victims 40% \
            --scheduled-time 6 --load-file 2MiB --log "$1.jsonl"
        ;;
    b_eff_io) on_nodes "node1 2" -- b_eff_io $short --partitions all --log "$1.jsonl" ;;
    b_eff_io-servers)
        on_nodes "node1 1" "node2 1" "node3 1" "node4 1" -- \
            env LD_PRELOAD=/opt/coffeecup/lustre.so b_eff_io $short --partitions 2,4 --read-shift --log "$1.jsonl"
        ;;
    ftio) on_nodes "node1 2" -- ftio --input 8 --repeat 2 --log "$1.jsonl" ;;
    ftio-mpiio) on_nodes "node1 4" -- ftio --storage mpiio --log "$1.jsonl" ;;
    ftio-nodes) on_nodes "n0 2" "n1 2" -- ftio --input 4 --repeat 2 --log "$1.jsonl" ;;
    ftio-counters)
        counting one & local one=$!
        counting two & local two=$!
        mkdir -p one/sys/class/infiniband/mlx5_0/ports/1/counters
        echo 1414 >one/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data
        sleep 0.5
        on_nodes "x0 2 COFFEECUP_COUNTERS_ROOT=one" "x1 2 COFFEECUP_COUNTERS_ROOT=two" -- \
            ftio --input 4 --repeat 2 --idle-power 0.5 --log "$1.jsonl"
        kill $one $two
        wait $one $two || true
        ;;
    priomark)
        cat >w.cfg <<'END'
seed = 5; repetitions = 2; check = true;
common_file = { process_size = "64KiB"; block_size = "16KiB"; read_write = ["1:3"]; };
strided = { process_size = "96KiB"; block_size = "4KiB"; blocks_per_stride = 3; read_write = "1:2"; };
async = { process_size = ["64KiB"]; };
single_file = { process_size = "64KiB"; block_size = "4KiB"; read_write = "3:1"; };
raw = { process_size = "64KiB"; block_size = "4KiB"; };
END
        on_nodes "node1 3" -- priomark --workload w.cfg --log "$1.jsonl"
        ;;
    priomark-posix)
        cat >w.cfg <<'END'
evict = false;
single_file = { process_size = "64KiB"; block_size = "4KiB"; read_write = "1:2"; };
async = { process_size = "64KiB"; methods = "posix-aio"; };
END
        on_nodes "node1 2" -- priomark --workload w.cfg --cache-size 1MiB --log "$1.jsonl"
        ;;
    esac
    xz --stdout "$1.jsonl" >"$here/$1.jsonl.xz"
}

[ $# -gt 0 ] || set -- b_eff_load b_eff_load-io b_eff_io b_eff_io-servers ftio ftio-mpiio ftio-nodes \
    ftio-counters priomark priomark-posix
for log; do record "$log"; done
