#!/bin/bash
# Eight tasks of a Slurm array translate a share each; then one joins what they wrote.
#   sbatch --array=1-8 --wait slurm-translate.sh big.en big.de && nmt join big.de
#SBATCH --job-name=nmt
#SBATCH --cpus-per-task=8
#SBATCH --mem=4G
#SBATCH --requeue
exec nmt translate -m "${NMT_MODEL:-runs/my}" -i "$1" -o "$2" --shard auto
