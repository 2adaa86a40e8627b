#!/bin/bash
#SBATCH --job-name="rfm_${check}_HASH"
#SBATCH --ntasks=${processes}
#SBATCH --ntasks-per-node=${per_node}
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=${time}
#SBATCH --exclusive
#SBATCH --nodes=${nodes}
#SBATCH --partition=${partition}
#SBATCH --cpus-per-task=1
#SBATCH --hint=nomultithread
#SBATCH --mem=744G
#SBATCH --account=project
export OMP_NUM_THREADS=1
export COFFEECUP_ASKED=${asked}
srun ${kernel}
