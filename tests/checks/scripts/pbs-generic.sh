#!/bin/bash
#PBS -N rfm_${check}_HASH
#PBS -o rfm_job.out
#PBS -e rfm_job.err
#PBS -l walltime=${time}
#PBS -l select=${nodes}:mpiprocs=${per_node}:ncpus=${per_node}:mem=240gb
#PBS -q workq
#PBS -l place=scatter:excl
#PBS -A project
cd ${folder}
export OMP_NUM_THREADS=1
export COFFEECUP_ASKED=${asked}
mpirun -np ${processes} ${kernel}
