#!/bin/bash
# envcfg:job HASH
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153 # as meant
# envcfg 0.1.0, profile tuolumne (sha256 HASH)
# made by: envcfg sbatch --profile tuolumne --account guests --nodes 2 --time 15 --split -o job.sh --force --container none -- python3 dump.py out 'a b'
# Submit it by: flux batch FILE
# Source and date of each value: envcfg profiles show tuolumne
# It starts the ranks by:
#   flux run --setattr=rdzv_get_en=0 "${ENVCFG_FLUX[@]}" /bin/sh -c "$ENVCFG_RANK" \
#     envcfg-rank "${ENVCFG_ARGS[@]}" -- python3 dump.py out 'a b'
# Each rank has:
# - RANK: FLUX_TASK_RANK
# - LOCAL_RANK: FLUX_TASK_LOCAL_ID
# - WORLD_SIZE: FLUX_JOB_SIZE
# - MASTER_ADDR: the first node of "flux hostlist instance"
# - cores: its share of the node by "-o cpu-affinity=per-task"
# - GPU mask: ROCR_VISIBLE_DEVICES (https://docs.olcf.ornl.gov/systems/frontier_user_guide.html
# (Flux), 2026-07-22)
# Settings of the profile that are left out, and why:
# - NCCL_NET, NCCL_NET_PLUGIN: plugin=unknown, rocm=unknown
# - TENSILE_SOLUTION_SELECTION_METHOD: rocm=unknown

# --- What is asked for, and why -----------------------------------------------------

# its name in the queue
#flux: --job-name=dump

# time is granted to banks; in a script it is written --setattr=bank=NAME
#flux: --setattr=bank=guests

# production
#flux: --queue=pbatch

# 4 GPUs on each node
#flux: --nodes=2

# a program needs exclusive nodes, because GPU and host share their memory
#flux: --exclusive

# the job ends at this limit; shorter jobs often start sooner
#flux: --time-limit=900s

# stdout and stderr, by name and number of the job
#flux: --output=dump-{{id}}.out

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_GPUS='4'             # on each node
ENVCFG_RANK_SHELL='/bin/sh' # starts the program in each rank
# node-local, and in memory on LUMI, whose nodes have no disk; inferred for the other systems,
# unless they name a source [profiles/slingshot.yaml:51]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_CLUSTERS='' ENVCFG_LOG='' ENVCFG_LOG_STAYS='' ENVCFG_RANKS='' ENVCFG_SUFFIX=''

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # the interfaces of Slingshot have other names here than elsewhere (by users:
  # https://github.com/LBANN/HPC-launcher, 2026-08-02) [profiles/tuolumne.yaml:172]
  envcfg_set NCCL_SOCKET_IFNAME hsi0
  envcfg_set GLOO_SOCKET_IFNAME hsi0 # gloo reads its own variable, and needs the exact name [profiles/tuolumne.yaml:177]
  envcfg_set NCCL_NET_GDR_LEVEL PHB  # GPU RDMA if the GPU and the NIC are on the same NUMA node [profiles/slingshot.yaml:99]
  # Slingshot is not a rail network; a ring may use different NICs to send and receive
  # [profiles/slingshot.yaml:104]
  envcfg_set NCCL_CROSS_NIC 1
  # memhooks intercepts malloc and can deadlock with RCCL and NCCL; kdreg2 works too, but needs a
  # kernel module [profiles/slingshot.yaml:109]
  envcfg_set FI_MR_CACHE_MONITOR userfaultfd
  envcfg_set FI_CXI_DISABLE_HOST_REGISTER 1 # prevents GPU calls of the provider that can deadlock [profiles/slingshot.yaml:116]
  envcfg_set FI_CXI_DEFAULT_CQ_SIZE 131072  # large jobs overrun the default completion queue [profiles/slingshot.yaml:121]
  # the provider's default is enough here; the family doubles it (by users:
  # https://github.com/LBANN/HPC-launcher, 2026-08-02) [profiles/tuolumne.yaml:187]
  envcfg_set FI_CXI_DEFAULT_TX_SIZE 1024
  # falls back to software when the NIC's matching resources run out [profiles/slingshot.yaml:131]
  envcfg_set FI_CXI_RX_MATCH_MODE hybrid
  # rocFFT keeps a SQLite cache in the home folder (by users: https://github.com/BLAST-WarpX/warpx,
  # 2026-07-01) [profiles/slingshot-rocm.yaml:65]
  envcfg_set ROCFFT_RTC_CACHE_PATH /dev/null
  # AMD's advice for collectives on these nodes (by users: https://github.com/LBANN/HPC-launcher,
  # 2026-08-02) [profiles/tuolumne.yaml:182]
  envcfg_set NCCL_MIN_NCHANNELS 24
  # lets PyTorch give MIOpen convolutions in the layout that is fast on MI300A (by users:
  # https://github.com/LBANN/HPC-launcher, 2026-08-02) [profiles/tuolumne.yaml:193]
  envcfg_set PYTORCH_MIOPEN_SUGGEST_NHWC 1
  # batch normalization must have the layout of the convolutions around it (by users:
  # https://github.com/LBANN/HPC-launcher, 2026-08-02) [profiles/tuolumne.yaml:198]
  envcfg_set PYTORCH_MIOPEN_SUGGEST_NHWC_BATCHNORM 1
  # a program that finds this variable assumes that MPI started it, and may start itself again
  # (Lightning) [profiles/tuolumne.yaml:211]
  envcfg_set -u PMI_RANK
  envcfg_set -u PMI_SIZE         # as PMI_RANK [profiles/tuolumne.yaml:218]
  envcfg_set -u PMI_FD           # as PMI_RANK [profiles/tuolumne.yaml:224]
  envcfg_set -u PMI_SPAWNED      # as PMI_RANK [profiles/tuolumne.yaml:230]
  envcfg_set -u PMI_CONTROL_PORT # as PMI_RANK [profiles/tuolumne.yaml:236]
  envcfg_set -u PALS_RANKID      # as PMI_RANK [profiles/tuolumne.yaml:242]
  envcfg_set -u PALS_NODEID      # as PMI_RANK [profiles/tuolumne.yaml:248]
  envcfg_set -u PALS_APID        # as PMI_RANK [profiles/tuolumne.yaml:254]
  envcfg_set -u PALS_APINFO      # as PMI_RANK [profiles/tuolumne.yaml:260]
  envcfg_set -u PALS_SPOOL_DIR   # as PMI_RANK [profiles/tuolumne.yaml:266]
  envcfg_set NCCL_DEBUG INFO
  envcfg_set NCCL_DEBUG_SUBSYS INIT,BOOTSTRAP,ENV,NET
  envcfg_lacks NCCL_DEBUG_FILE --set PWD "${PWD+set}" BASHPID "${BASHPID+set}" || envcfg_set NCCL_DEBUG_FILE "${PWD}"/nccl-"${ENVCFG_JOB}"."${BASHPID}"/nccl-%h-%p.log
  # A value that the job exports itself wins over the profile's.
  envcfg_keep_exported 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR MIOPEN_USER_DB_PATH MIOPEN_CUSTOM_CACHE_DIR
  # Also keep the job's own node and port where ranks meet.
  envcfg_keep_exported "default: the step's first node" MASTER_ADDR
  envcfg_keep_exported quietly MASTER_PORT
  envcfg_own_masks HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
  ENVCFG_LOG="${PWD:-}"
  # as the family's; here an attribute of the step disables the scheduler's own protocol (by users:
  # https://github.com/LBANN/HPC-launcher, 2026-08-02) [profiles/tuolumne.yaml:147]
  if [ "$ENVCFG_NODES" -gt 1 ] && envcfg_agrees alternate-rendezvous \
    FI_CXI_RDZV_PROTO alt_read \
    FI_CXI_RDZV_EAGER_SIZE 0 \
    FI_CXI_RDZV_THRESHOLD 0 \
    FI_CXI_RDZV_GET_MIN 0; then
    envcfg_force FI_CXI_RDZV_PROTO alt_read
    envcfg_force FI_CXI_RDZV_EAGER_SIZE 0
    envcfg_force FI_CXI_RDZV_THRESHOLD 0
    envcfg_force FI_CXI_RDZV_GET_MIN 0
    envcfg_option --setattr=rdzv_get_en=0
  fi
}

envcfg_run_watcher() {
  exec envcfg check-log --no-default all --watch-step warn '--expect-network=AWS Libfabric' --expect-network=Libfabric --expect-network=OFI --expect-provider=cxi --require-gdr "$@"
}

# Variables of each rank, in the container.
envcfg_rank_settings() {
  # the default is in the home folder; on NFS, ranks of several nodes race for it, and some fail (by
  # users: https://github.com/PrimeIntellect-ai/prime-rl/pull/2305, 2026-11-29)
  # [profiles/slingshot.yaml:137]
  envcfg_set TRITON_CACHE_DIR "${ENVCFG_CACHE}"/triton
  # by default, compiled extensions are in the home folder, where all ranks wait for one lock
  # [profiles/slingshot.yaml:143]
  envcfg_set TORCH_EXTENSIONS_DIR "${ENVCFG_CACHE}"/torch_extensions
  # the default folder in /tmp contains only the user's name, so jobs on one node share it
  # [profiles/slingshot.yaml:149]
  envcfg_set TORCHINDUCTOR_CACHE_DIR "${ENVCFG_CACHE}"/inductor
  # MIOpen uses SQLite databases, and their locks fail on Lustre if many ranks use them
  # [profiles/slingshot-rocm.yaml:51]
  envcfg_set MIOPEN_USER_DB_PATH "${ENVCFG_CACHE}"/miopen
  # the cache of compiled kernels; on a network file system MIOpen moves it to the shared /tmp,
  # where users conflict [profiles/slingshot-rocm.yaml:57]
  envcfg_set MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_USER_DB_PATH}"
  envcfg_folders TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
    TORCH_EXTENSIONS_DIR "${TORCH_EXTENSIONS_DIR-}" \
    TORCHINDUCTOR_CACHE_DIR "${TORCHINDUCTOR_CACHE_DIR-}" \
    MIOPEN_USER_DB_PATH "${MIOPEN_USER_DB_PATH-}" \
    MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_CUSTOM_CACHE_DIR-}"
  # One layer of GPU masking: ROCR_VISIBLE_DEVICES.
  envcfg_number_gpus ROCR_VISIBLE_DEVICES "${ROCR_VISIBLE_DEVICES--}" \
    HIP_VISIBLE_DEVICES "${HIP_VISIBLE_DEVICES-}" \
    CUDA_VISIBLE_DEVICES "${CUDA_VISIBLE_DEVICES-}" \
    GPU_DEVICE_ORDINAL "${GPU_DEVICE_ORDINAL-}"
}

# --- guard 2 (sha256 HASH): refuse shells other than bash 4.4 or newer
case ${BASH_VERSION:-none}:${SHELLOPTS-} in
  none:* | [1-3].* | 4.[0-3].* | *:*posix*) # as sh, too, bash reads other rules
    printf 'envcfg: error: this needs bash 4.4 or newer, not in its POSIX mode; run it as in: bash job.sh\n' >&2
    case $- in *i*) return 4 ;; *) exit 4 ;; esac
    ;;
esac

# --- begin 8 (sha256 HASH): refuse a shell in which bash would stop halfway and report success
# Traps of the job's shell do not run between commands of envcfg: set +ET, and no CHLD trap.
ENVCFG_FLAGS=$-
\builtin set +ET

envcfg_quiet() { # put the CHLD trap aside, in one command: the trap runs after the first child has ended
  ENVCFG_CHLD=''
  # shellcheck disable=SC2064 # the text is meant to be read now
  \builtin trap ": ${ENVCFG_CHLD:=$(\builtin trap -p CHLD)}" CHLD
  \builtin trap - CHLD
}

envcfg_heed() { # give the CHLD trap back; in a subshell it is the parent's
  if [[ ${BASHPID-} == "$$" ]]; then \builtin eval "$ENVCFG_CHLD"; fi
}

envcfg_give_back() { # to the job's shell, what has been changed in it
  if [[ $ENVCFG_FLAGS == *E* ]]; then \builtin set -E; fi
  if [[ $ENVCFG_FLAGS == *T* ]]; then \builtin set -T; fi
  if [[ :$ENVCFG_BASHOPTS: == *:expand_aliases:* ]]; then \builtin shopt -s expand_aliases; fi
  envcfg_heed
}

envcfg_quiet
ENVCFG_READONLY=$'\n'$(\builtin readonly -p && \builtin declare -F)
ENVCFG_TRY=$'*\ndeclare -*([a-z])r*([a-z]) @(ENVCFG|envcfg|IFS)[_=\n]*' # "readonly" of a name of envcfg
# shellcheck disable=SC2053 # it is a pattern
if [[ $- == *r* || :$BASHOPTS: == *:extdebug:* || ${FUNCNEST-} == [1-9] || ${FUNCNEST-} == [1-9][0-9] ||
  $ENVCFG_READONLY == $ENVCFG_TRY || $ENVCFG_READONLY != *' BASHOPTS='* ]]; then
  \builtin printf 'envcfg: error: this shell is restricted, has extdebug, a function "builtin", a low FUNCNEST, or a readonly name that envcfg needs (ENVCFG_*, envcfg_*, IFS)\n' >&2
  \builtin printf '  hint: start the step in a shell without these: bash job.sh\n' >&2
  envcfg_give_back
  case $- in *i*) \builtin return 4 ;; *) \builtin exit 4 ;; esac
  # An expansion still ends the shell if a DEBUG trap skips commands or "builtin" is a function.
  # shellcheck disable=SC2317 # then this is reached
  { :; } <<<"${ENVCFG_REFUSED?envcfg: error: this shell has extdebug or a function "builtin", so nothing is run}"
fi

# --- The rest is the same in many jobs: a file, run if its SHA-256 is right ---------
# Slurm runs a copy of this script: so the path of the file is in full.
ENVCFG_FILE=/home/me/.envcfg/HASH.bash
ENVCFG_AGAIN='cd /home/me && envcfg sbatch --profile tuolumne --account guests --nodes 2 --time 15 --split -o job.sh --force --container none -- python3 dump.py out '"'"'a b'"'"''
for ENVCFG_TRY in "$ENVCFG_FILE" "${SLURM_SUBMIT_DIR:-${PBS_O_WORKDIR:-$PWD}}/.envcfg/${ENVCFG_FILE##*/}"; do
  { IFS= \builtin read -r -d '' ENVCFG_TEXT <"$ENVCFG_TRY" || \builtin :; } 2>/dev/null
  ENVCFG_HASH=$(\builtin printf %s "${ENVCFG_TEXT-}" | \builtin command sha256sum 2>/dev/null) || ENVCFG_HASH=''
  if [[ ${ENVCFG_FILE##*/} == "${ENVCFG_HASH:0:32}.bash" ]]; then break; fi
done
if [[ ${ENVCFG_FILE##*/} != "${ENVCFG_HASH:0:32}.bash" ]]; then
  \builtin printf 'envcfg: error: %s is missing or changed, as %s sees it, so nothing is run\n' "$ENVCFG_FILE" "${HOSTNAME:-this host}" >&2
  if [[ -z $ENVCFG_HASH ]]; then \builtin printf '  sha256sum, which checks it, failed or is not on PATH\n' >&2; fi
  \builtin printf '  hint: write both files again: %s\n' "$ENVCFG_AGAIN" >&2
  envcfg_give_back
  case $- in *i*) \builtin return 4 ;; *) \builtin exit 4 ;; esac
fi
\builtin eval "$ENVCFG_TEXT"

envcfg_run python3 dump.py out 'a b'
