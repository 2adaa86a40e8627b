#!/bin/bash
#SBATCH --job-name="rfm_${check}_HASH"
#SBATCH --ntasks=${processes}
#SBATCH --ntasks-per-node=${per_node}
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=${time}
#SBATCH --exclusive
#SBATCH --nodes=${nodes}
#SBATCH --partition=compute
#SBATCH --mem=0
#SBATCH --account=project
${of_file_system}export OMP_NUM_THREADS=1
export COFFEECUP_ASKED=${asked}
srun ${kernel}
