# envcfg 0.1.0, profile tuolumne (sha256 91768d11d17adc84)
# made by: envcfg wrap --print job --profile tuolumne --fact rocm=6.4.1 --fact plugin=1.14.2 --container /images/pytorch.sif --runtime-arg=--cleanenv -- python3 dump.py out 'a b'
# You can source it in a batch script, evaluate it, run it, or submit it.
# Compute nodes need bash 4.4, and neither envcfg nor Python.
# It starts the ranks by:
#   flux run --setattr=rdzv_get_en=0 "${ENVCFG_FLUX[@]}" singularity exec --cleanenv \
#     /images/pytorch.sif /bin/sh -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- \
#     python3 dump.py out 'a b'
# Each rank has:
# - RANK: FLUX_TASK_RANK
# - LOCAL_RANK: FLUX_TASK_LOCAL_ID
# - WORLD_SIZE: FLUX_JOB_SIZE
# - MASTER_ADDR: the first node of "flux hostlist instance"
# - cores: its share of the node by "-o cpu-affinity=per-task"
# - GPU mask: ROCR_VISIBLE_DEVICES (https://docs.olcf.ornl.gov/systems/frontier_user_guide.html
# (Flux), 2026-07-22)
# Settings of the profile that are left out, and why:
# - NCCL_NET_PLUGIN: plugin=1.14.2, rocm=6.4.1
# - TENSILE_SOLUTION_SELECTION_METHOD: rocm=6.4.1

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_GPUS='4' # on each node
ENVCFG_IMAGE='/images/pytorch.sif'
ENVCFG_IMAGE_IS_FILE='yes'              # the job must be able to read it
ENVCFG_RUNTIMES='singularity apptainer' # the first that is on PATH enters the container
ENVCFG_RUNTIME_COMMAND='exec'           # by this command of the runtime
ENVCFG_RANK_SHELL='/bin/sh'             # starts the program in each rank
# node-local, and in memory on LUMI, whose nodes have no disk; inferred for the other systems,
# unless they name a source [profiles/slingshot.yaml:51]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_CLUSTERS='' ENVCFG_RANKS='' ENVCFG_RUNTIME_MODULES='' ENVCFG_SUFFIX=''

# Binds; envcfg_bind_if: only if the node has the path.
envcfg_mounts() {
  envcfg_argument --cleanenv
}

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # the same, with the name of the plugins for older ROCm (by users:
  # https://github.com/LBANN/HPC-launcher, 2026-08-02) [profiles/tuolumne.yaml:166]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_NET 'AWS Libfabric'
  fi
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
  # A value that the job exports itself wins over the profile's.
  envcfg_keep_exported 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR MIOPEN_USER_DB_PATH MIOPEN_CUSTOM_CACHE_DIR
  # Also keep the job's own node and port where ranks meet.
  envcfg_keep_exported "default: the step's first node" MASTER_ADDR
  envcfg_keep_exported quietly MASTER_PORT
  envcfg_own_masks HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
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

# modules: guard, begin, core, force, bundles, gpu_numbers, signals, where, secrets, inherited, arguments, flux, folders, caches, container, flux/task, runtimes/apptainer, per_node, flux/ranks, end

envcfg_run python3 dump.py out 'a b'
