# envcfg 0.1.0, profile perlmutter (sha256 ca07606311376a8e)
# made by: envcfg wrap --print job --profile perlmutter --runtime shifter --container docker:a/pytorch:2.9 --bind /data::ro -- python3 dump.py out 'a b'
# Source it in a batch script, evaluate it, run it, submit it: all the same.
# Compute nodes need bash 4.4, and neither envcfg nor Python.
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL --gpu-bind=none \
#     --cpu-bind=mask_cpu:0xffff000000000000ffff000000000000,0x0000ffff000000000000ffff00000000,0x00000000ffff000000000000ffff0000,0x000000000000ffff000000000000ffff \
#     "${ENVCFG_SRUN[@]}" shifter --workdir "$PWD" --module=gpu,nccl-plugin --volume \
#     /data:/data:ro --image docker:a/pytorch:2.9 /bin/sh -c "$ENVCFG_RANK" envcfg-rank \
#     "${ENVCFG_ARGS[@]}" -- python3 dump.py out 'a b'

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_IMAGE='docker:a/pytorch:2.9'
ENVCFG_RUNTIMES='shifter'    # the first that is on PATH enters the container
ENVCFG_RANK_SHELL='/bin/sh'  # starts the program in each rank
ENVCFG_CLUSTERS='perlmutter' # where this job may run
# GPUs are numbered against the order of the cores that they hang on [profiles/perlmutter.yaml:58]
ENVCFG_CPU_MASKS=0xffff000000000000ffff000000000000,0x0000ffff000000000000ffff00000000,0x00000000ffff000000000000ffff0000,0x000000000000ffff000000000000ffff
ENVCFG_CPU_MASKS_UNION=ffffffff,ffffffff,ffffffff,ffffffff # cores of all of them
# node-local, and in memory on LUMI, whose nodes have no disk; inferred for its kin, where no other
# source is given [profiles/slingshot.yaml:50]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_COMPONENTS='' ENVCFG_IMAGE_IS_FILE='' ENVCFG_RANKS='' ENVCFG_RUNTIME_MODULES='' ENVCFG_SUFFIX=''

# Binds; envcfg_bind_if: only if the node has the path.
envcfg_mounts() {
  envcfg_argument --module=gpu,nccl-plugin # the same for Shifter; it takes the place of the modules that a job has by itself [profiles/perlmutter.yaml:83]
  envcfg_bind /data /data:/data:ro
}

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # as in the family; a job of one node has no address on Slingshot [profiles/perlmutter.yaml:146]
  # a plugin that does not load then ends the job, where NCCL would go on over TCP; every version of
  # the plugin has this name, or takes it for its own [profiles/perlmutter.yaml:151]
  if [ "$ENVCFG_NODES" -eq 1 ]; then
    envcfg_set -u NCCL_NET
  elif [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_NET 'AWS Libfabric'
  fi
  # as the site writes it; NCCL takes it as the beginning of the four names
  # [profiles/perlmutter.yaml:159]
  envcfg_set NCCL_SOCKET_IFNAME hsn
  # gloo reads its own variable, not that of NCCL, and takes exact names, no prefixes
  # [profiles/slingshot.yaml:93]
  envcfg_set GLOO_SOCKET_IFNAME hsn0
  envcfg_set NCCL_NET_GDR_LEVEL PHB # GPU RDMA wherever GPU and NIC hang on the same NUMA node [profiles/slingshot.yaml:98]
  # Slingshot is not a rail network; rings may leave and enter by different NICs
  # [profiles/slingshot.yaml:103]
  envcfg_set NCCL_CROSS_NIC 1
  # memhooks intercepts malloc and can deadlock with RCCL and NCCL; kdreg2 serves as well, but needs
  # a kernel module [profiles/slingshot.yaml:108]
  envcfg_set FI_MR_CACHE_MONITOR userfaultfd
  envcfg_set FI_CXI_DISABLE_HOST_REGISTER 1 # keeps the provider from GPU calls that can deadlock [profiles/slingshot.yaml:115]
  # HDF5 cannot lock on the site's shared file systems, and opening a file fails
  # [profiles/perlmutter.yaml:164]
  envcfg_set HDF5_USE_FILE_LOCKING FALSE
  # A value that the job exports itself wins over the profile's.
  envcfg_keep_exported 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR
  # The same of the node and the port where ranks meet.
  envcfg_keep_exported "default: the step's first node" MASTER_ADDR
  envcfg_keep_exported quietly MASTER_PORT
  # where Slurm gives each task its GPU alone, GPUs of a node cannot reach each other
  # [profiles/perlmutter.yaml:54]
  envcfg_option --gpu-bind=none
}

# Variables of each rank, in the container.
envcfg_rank_settings() {
  # the default is in the home folder; on a shared file system many ranks corrupt it
  # [profiles/slingshot.yaml:136]
  envcfg_set TRITON_CACHE_DIR "${ENVCFG_CACHE}"/triton
  # compiled extensions default to the home folder, where ranks race for a lock
  # [profiles/slingshot.yaml:142]
  envcfg_set TORCH_EXTENSIONS_DIR "${ENVCFG_CACHE}"/torch_extensions
  # the default is in /tmp by user name, so jobs that share a node share it
  # [profiles/slingshot.yaml:148]
  envcfg_set TORCHINDUCTOR_CACHE_DIR "${ENVCFG_CACHE}"/inductor
  envcfg_folders TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
    TORCH_EXTENSIONS_DIR "${TORCH_EXTENSIONS_DIR-}" \
    TORCHINDUCTOR_CACHE_DIR "${TORCHINDUCTOR_CACHE_DIR-}"
}

# modules: guard, begin, core, signals, where, inherited, arguments, srun, folders, caches, masks, container, runtimes/shifter, srun/ranks, end

envcfg_run python3 dump.py out 'a b'
