#!/bin/bash
# Start JupyterLab in a container on a compute node, with one GPU for two hours.
# usage: ./submit.sh
set -euo pipefail

envcfg job --profile lumi-g --container pytorch.sif --account project_465000001 \
  --partition small-g --gpus 1 --time 2:00:00 --job-name jupyter \
  --force -o jupyter-job.sh -- sh server.sh
id=$(sbatch --parsable jupyter-job.sh)
printf 'job %s; when it runs, jupyter-%s.txt says how to reach it\n' "${id%%;*}" "${id%%;*}"
