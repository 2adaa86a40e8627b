#!/bin/bash
#SBATCH --job-name="rfm_${check}_HASH"
#SBATCH --ntasks=${processes}
#SBATCH --ntasks-per-node=${per_node}
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=${time}
#SBATCH --exclusive
#SBATCH --nodes=${nodes}
#SBATCH --partition=${queue}
#SBATCH --qos=${partition}
#SBATCH --cpus-per-task=1
#SBATCH --account=project
export OMP_NUM_THREADS=1
export SRUN_CPUS_PER_TASK=1
export COFFEECUP_ASKED=${asked}
srun --distribution=block:block --hint=nomultithread --cpu-freq=2000000 ${kernel}
