# shellcheck shell=bash # launchers/horovod 3: Horovod without MPI
# sets: HOROVOD_CONTROLLER HOROVOD_CPU_OPERATIONS HOROVOD_HOSTNAME HOROVOD_RANK HOROVOD_SIZE HOROVOD_LOCAL_RANK HOROVOD_LOCAL_SIZE HOROVOD_CROSS_RANK HOROVOD_CROSS_SIZE HOROVOD_GLOO_RENDEZVOUS_ADDR HOROVOD_GLOO_RENDEZVOUS_PORT HOROVOD_GLOO_IFACE
envcfg_in_rank <<'ENVCFG_TEXT'
# Without MPI the ranks meet by gloo, at a small server of Horovod's own next to rank 0.
envcfg_set HOROVOD_CONTROLLER gloo
envcfg_set HOROVOD_CPU_OPERATIONS gloo
envcfg_set HOROVOD_HOSTNAME "$NODE_RANK"
envcfg_set HOROVOD_RANK "$RANK"
envcfg_set HOROVOD_SIZE "$WORLD_SIZE"
envcfg_set HOROVOD_LOCAL_RANK "$LOCAL_RANK"
envcfg_set HOROVOD_LOCAL_SIZE "$LOCAL_WORLD_SIZE"
envcfg_set HOROVOD_CROSS_RANK "$NODE_RANK"
envcfg_set HOROVOD_CROSS_SIZE "$envcfg_nodes"
envcfg_set HOROVOD_GLOO_RENDEZVOUS_ADDR "$MASTER_ADDR"
envcfg_set HOROVOD_GLOO_RENDEZVOUS_PORT "$MASTER_PORT"
[ -z "${GLOO_SOCKET_IFNAME-}" ] || envcfg_set HOROVOD_GLOO_IFACE "${GLOO_SOCKET_IFNAME%%,*}"
if [ "$RANK" -eq 0 ] && ! envcfg_is_preset HOROVOD_GLOO_RENDEZVOUS_ADDR; then # it ends with the program, which is this process soon
  case ${1##*/} in python | python[0-9]*) envcfg_python=$1 ;; *) envcfg_python=python3 ;; esac
  "$envcfg_python" -c '
import os, sys, threading, time
from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer
server = RendezvousHTTPServer(("", int(sys.argv[1])), RendezvousHandler, 0)
server.init([])
threading.Thread(target=server.serve_forever, daemon=True).start()
while os.getppid() == int(sys.argv[2]):
    time.sleep(1)
' "$HOROVOD_GLOO_RENDEZVOUS_PORT" "$$" </dev/null &
fi
ENVCFG_TEXT
