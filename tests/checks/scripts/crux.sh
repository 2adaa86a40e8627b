#!/bin/bash
#PBS -N rfm_${check}_HASH
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=${time}
#PBS -l select=${nodes}:mpiprocs=${per_node}:ncpus=${per_node}:system=crux
#PBS -q ${queue}
#PBS -l place=scatter
#PBS -l filesystems=home:eagle
#PBS -k doe
#PBS -A project
cd ${folder}
export OMP_NUM_THREADS=1
export COFFEECUP_ASKED=${asked}
mpiexec -n ${processes} --ppn ${per_node} --cpu-bind depth --depth 1 ${kernel}
