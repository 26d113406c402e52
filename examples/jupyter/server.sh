#!/bin/sh
# The server, on the compute node and in the container. Who has its token runs programs as you:
# the token is in a file that you alone can read, not in the command, nor in the job's output.
set -eu
umask 077

node=$(uname -n)
port=$((20000 + SLURM_JOB_ID % 10000)) # of this job, so that two on a node do not meet
JUPYTER_TOKEN=$(python3 -c 'import secrets; print(secrets.token_hex(24))')
export JUPYTER_TOKEN

cat >"jupyter-$SLURM_JOB_ID.txt" <<END
on your own machine, with the login node that you use:
  ssh -N -L 8888:$node:$port USER@LOGIN
then open:
  http://127.0.0.1:8888/lab?token=$JUPYTER_TOKEN
to end it: File > Shut Down, or scancel $SLURM_JOB_ID
END

# It listens on the node's own address, as the tunnel comes from the login node. An hour
# without use ends it, as GPUs cost what they cost.
exec venv/bin/python -m jupyterlab --no-browser --ip="$node" --port="$port" \
  --ServerApp.port_retries=0 --ServerApp.shutdown_no_activity_timeout=3600
