# envcfg 0.1.0, profile alps-clariden (sha256 b0158414b22ae8d1)
# made by: envcfg wrap --print job --profile alps-clariden --runtime ce --container docker://ghcr.io/eth-cscs/alps-extended-images/ngc-pytorch:26.02-py3-alps6 -- python3 dump.py out 'a b'
# You can source it in a batch script, evaluate it, run it, or submit it.
# Compute nodes need bash 4.4, and neither envcfg nor Python.
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL --network=disable_rdzv_get \
#     --cpu-bind=mask_cpu:0x000000000000000000000000000000000000000000000000000000ffffffffffffffffff,0x000000000000000000000000000000000000ffffffffffffffffff000000000000000000,0x000000000000000000ffffffffffffffffff000000000000000000000000000000000000,0xffffffffffffffffff000000000000000000000000000000000000000000000000000000 \
#     "${ENVCFG_SRUN[@]}" --environment "$ENVCFG_PLACED/environment.toml" /bin/sh -c \
#     "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- python3 dump.py out 'a b'
# Each rank has:
# - RANK: SLURM_PROCID
# - LOCAL_RANK: SLURM_LOCALID
# - WORLD_SIZE: SLURM_STEP_NUM_TASKS
# - MASTER_ADDR: the first node of SLURM_STEP_NODELIST
# - cores: those next to its GPU by ENVCFG_CPU_MASKS or the first node's own files
# (https://github.com/eth-cscs/cscs-docs (commit e1fb7d1 of 2026-06-24, docs/running/slurm.md, line
# 438); https://github.com/eth-cscs/cscs-docs (commit e1fb7d1 of 2026-06-24,
# docs/software/sciapps/cp2k.md, lines 211-271), 2026-06-24)
# - GPU mask: CUDA_VISIBLE_DEVICES (https://docs.nvidia.com/cuda/cuda-c-programming-guide/
# (environment variables), 2026-11-21)
# Settings of the profile that are left out, and why:
# - NCCL_NET, NCCL_SOCKET_IFNAME, NCCL_NET_GDR_LEVEL, FI_MR_CACHE_MONITOR,
# FI_CXI_DISABLE_HOST_REGISTER, FI_CXI_DEFAULT_CQ_SIZE, FI_CXI_DEFAULT_TX_SIZE, NCCL_PROTO,
# PMIX_MCA_psec: container=ngc-pytorch:26.02-py3-alps6
# - NCCL_CROSS_NIC, FI_CXI_RX_MATCH_MODE: container=ngc-pytorch:26.02-py3-alps6, runtime=ce
# - TRITON_HOME: runtime=ce

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_NODE_CORES='288' # of a node, for jobs
ENVCFG_IMAGE='ghcr.io#eth-cscs/alps-extended-images/ngc-pytorch:26.02-py3-alps6'
ENVCFG_RANK_SHELL='/bin/sh' # starts the program in each rank
ENVCFG_CLUSTERS='clariden'  # where this job may run
# each GH200 is a NUMA node, with a GPU and the 72 cores next to it [profiles/alps-clariden.yaml:76]
ENVCFG_CPU_MASKS=0x000000000000000000000000000000000000000000000000000000ffffffffffffffffff,0x000000000000000000000000000000000000ffffffffffffffffff000000000000000000,0x000000000000000000ffffffffffffffffff000000000000000000000000000000000000,0xffffffffffffffffff000000000000000000000000000000000000000000000000000000
ENVCFG_CPU_MASKS_UNION=ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff # cores of all of them
ENVCFG_CPU_LISTS=0-71:72-143:144-215:216-287
# node-local, and in memory on LUMI, whose nodes have no disk; inferred for the other systems,
# unless they name a source [profiles/slingshot.yaml:51]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_COMPONENTS='' ENVCFG_IMAGE_IS_FILE='' ENVCFG_RANKS='' ENVCFG_RUNTIMES='' ENVCFG_RUNTIME_MODULES='' ENVCFG_SUFFIX='' ENVCFG_UNBOUND=''

# Binds; envcfg_bind_if: only if the node has the path.
envcfg_mounts() {
  envcfg_argument --annotation=com.hooks.cxi.enabled=false # the image brings libfabric and the plugin; the hook would put the host's over them [profiles/alps-clariden.yaml:112]
  envcfg_argument --entrypoint                             # the image sets the variables of its network where it starts [profiles/alps-clariden.yaml:117]
  envcfg_bind_if /capstor                                  # the file system of scratch [profiles/alps-clariden.yaml:89]
  envcfg_bind_if /iopsstor                                 # the file system of scratch for many small files [profiles/alps-clariden.yaml:94]
}

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # gloo reads its own variable, not NCCL's, and needs exact names, not prefixes
  # [profiles/slingshot.yaml:94]
  envcfg_set GLOO_SOCKET_IFNAME hsn0
  # CUDA keeps compiled kernels in the home folder, which many ranks share
  # [profiles/alps-clariden.yaml:247]
  envcfg_set CUDA_CACHE_DISABLE 1
  # models go to scratch, as the home folder is too small [profiles/alps-clariden.yaml:252]
  if [ -n "${SCRATCH-}" ]; then envcfg_set HF_HOME "${SCRATCH}"/huggingface; fi
  # A value that the job exports itself wins over the profile's.
  envcfg_keep_exported 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR
  # Also keep the job's own node and port where ranks meet.
  envcfg_keep_exported "default: the step's first node" MASTER_ADDR
  envcfg_keep_exported quietly MASTER_PORT
  # receivers fetch every message (alt_read) in Alps Extended Images, and since June 2026 also with
  # the hook for the plugin; the driver allows this only with this option
  # [profiles/alps-clariden.yaml:69]
  envcfg_option --network=disable_rdzv_get
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
  envcfg_folders TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
    TORCH_EXTENSIONS_DIR "${TORCH_EXTENSIONS_DIR-}" \
    TORCHINDUCTOR_CACHE_DIR "${TORCHINDUCTOR_CACHE_DIR-}"
}

# modules: guard, begin, core, signals, where, secrets, inherited, arguments, srun, folders, caches, cpu_lists, masks, srun/cores, container, srun/plugin, place, runtimes/ce, srun/ranks, end

envcfg_run python3 dump.py out 'a b'
