#!/bin/bash
# Trains on several nodes of a Slurm cluster; the same command, run again, resumes.
#   sbatch --nodes=4 slurm-train.sh my.yaml
#SBATCH --job-name=nmt
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --requeue
#SBATCH --signal=TERM@120
# Jobs that share a node get ports of their own. SIGTERM, two minutes before the time is up, saves.
exec srun --kill-on-bad-exit nmt train "$1" --workers "auto:$((20000 + SLURM_JOB_ID % 10000))"
