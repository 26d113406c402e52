# envcfg 0.1.0, profile lumi-g (sha256 ae773a96dffac44b)
# made by: envcfg wrap --print job --profile lumi-g --fact rocm=6.2.4 --runtime charliecloud --container /images/pytorch.sqfs --bind /data -- python3 dump.py out 'a b'
# Source it in a batch script, evaluate it, run it, submit it: all the same.
# Compute nodes need bash 4.4, and neither envcfg nor Python.
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL \
#     --cpu-bind=mask_cpu:0x00fe000000000000,0xfe00000000000000,0x0000000000fe0000,0x00000000fe000000,0x00000000000000fe,0x000000000000fe00,0x000000fe00000000,0x0000fe0000000000 \
#     "${ENVCFG_SRUN[@]}" ch-run --bind /var/spool/slurmd:/var/spool/slurmd --bind \
#     /opt/cray:/opt/cray --bind /usr/lib64/libcxi.so.1:/usr/lib64/libcxi.so.1 --bind \
#     /pfs:/pfs --bind /scratch:/scratch --bind /projappl:/projappl --bind \
#     /project:/project --bind /flash:/flash --bind /appl:/appl --bind /data:/data \
#     --bind "$PWD:$PWD" --cd "$PWD" /images/pytorch.sqfs -- /bin/sh -c "$ENVCFG_RANK" \
#     envcfg-rank "${ENVCFG_ARGS[@]}" -- python3 dump.py out 'a b'

# --- What this job needs ------------------------------------------------------------

ENVCFG_IMAGE='/images/pytorch.sqfs'
ENVCFG_KNOWN='module use /appl/local/containers/ai-modules; module load singularity-AI-bindings'
ENVCFG_SHELL='/bin/sh'
ENVCFG_IS_FILE='yes'
ENVCFG_CLUSTERS='lumi'
# the order of GCDs is not that of CCDs; srun obeys masks only where the job owns every core
# of the node [profiles/lumi-g.yaml:69]
ENVCFG_MASKS=0x00fe000000000000,0xfe00000000000000,0x0000000000fe0000,0x00000000fe000000,0x00000000000000fe,0x000000000000fe00,0x000000fe00000000,0x0000fe0000000000
ENVCFG_MASKS_UNION=fefefefe,fefefefe
ENVCFG_RUNTIMES=(ch-run) # the first that is on PATH
# node-local, but in memory and counted against the job, so it must be cleaned
# [profiles/lumi-g.yaml:100]
ENVCFG_SCRATCH=/tmp # for node-local caches

IFS= builtin read -r -d '' ENVCFG_INSIDE <<'ENVCFG_TEXT' || builtin : # until the text ends
envcfg_inside() { # what is set in each task, in the container
  # One layer of GPU masking: ROCR_VISIBLE_DEVICES.
  unset -v HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
  # the default is in the home folder; on a shared file system many ranks corrupt it
  # [profiles/slingshot.yaml:136]
  envcfg_in_set TRITON_CACHE_DIR "${ENVCFG_CACHE}"/triton
  # compiled extensions default to the home folder, where ranks race for a lock
  # [profiles/slingshot.yaml:142]
  envcfg_in_set TORCH_EXTENSIONS_DIR "${ENVCFG_CACHE}"/torch_extensions
  # the default is in /tmp by user name, so jobs that share a node share it
  # [profiles/slingshot.yaml:148]
  envcfg_in_set TORCHINDUCTOR_CACHE_DIR "${ENVCFG_CACHE}"/inductor
  # MIOpen keeps SQLite databases, whose locks break on Lustre when many ranks try
  # [profiles/slingshot-rocm.yaml:49]
  envcfg_in_set MIOPEN_USER_DB_PATH "${ENVCFG_CACHE}"/miopen
  # the cache of compiled kernels; on a network file system MIOpen moves it to a shared /tmp
  # by itself, where users clash [profiles/slingshot-rocm.yaml:55]
  envcfg_in_set MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_USER_DB_PATH}"
  # AITER compiles kernels under a lock that Lustre does not keep well
  # [profiles/lumi-g.yaml:325]
  envcfg_in_set AITER_JIT_DIR "${ENVCFG_CACHE}"/aiter
  envcfg_folders TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
    TORCH_EXTENSIONS_DIR "${TORCH_EXTENSIONS_DIR-}" \
    TORCHINDUCTOR_CACHE_DIR "${TORCHINDUCTOR_CACHE_DIR-}" \
    MIOPEN_USER_DB_PATH "${MIOPEN_USER_DB_PATH-}" \
    MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_CUSTOM_CACHE_DIR-}" \
    AITER_JIT_DIR "${AITER_JIT_DIR-}"
}
ENVCFG_TEXT

envcfg_modules() {
  # holds the bindings for images that run on the host's libfabric
  # [profiles/lumi-g.yaml:199]
  envcfg_module use /appl/local/containers/ai-modules
  # binds the file systems, libcxi and the host's libfabric [profiles/lumi-g.yaml:205]
  envcfg_module load singularity-AI-bindings
  envcfg_unloaded
}

envcfg_mounts() {
  # PMI and Slurm clients in the container look here [profiles/lumi-g.yaml:137]
  envcfg_bind_if /var/spool/slurmd /var/spool/slurmd /var/spool/slurmd:/var/spool/slurmd
  # the host's libfabric for the plugin; the newer images bring their own
  # [profiles/lumi-g.yaml:142]
  envcfg_bind_if /opt/cray /opt/cray /opt/cray:/opt/cray
  # the host's libfabric needs the host's libcxi [profiles/lumi-g.yaml:148]
  envcfg_bind_if /usr/lib64/libcxi.so.1 /usr/lib64/libcxi.so.1 /usr/lib64/libcxi.so.1:/usr/lib64/libcxi.so.1
  # /scratch, /project and others are links into it [profiles/lumi-g.yaml:154]
  envcfg_bind_if /pfs /pfs /pfs:/pfs
  # the project's scratch [profiles/lumi-g.yaml:159]
  envcfg_bind_if /scratch /scratch /scratch:/scratch
  # the project's own software [profiles/lumi-g.yaml:164]
  envcfg_bind_if /projappl /projappl /projappl:/projappl
  # the project's persistent storage [profiles/lumi-g.yaml:169]
  envcfg_bind_if /project /project /project:/project
  # the project's flash storage [profiles/lumi-g.yaml:174]
  envcfg_bind_if /flash /flash /flash:/flash
  # the system's software and its container images [profiles/lumi-g.yaml:179]
  envcfg_bind_if /appl /appl /appl:/appl
  envcfg_bind /data /data:/data
}

envcfg_settings() {
  # bootstrap and any socket traffic must use the four Slingshot interfaces; left alone, the
  # library takes the management network [profiles/slingshot.yaml:86]
  envcfg_set NCCL_SOCKET_IFNAME hsn0,hsn1,hsn2,hsn3
  # gloo reads its own variable, not that of NCCL, and takes exact names, no prefixes
  # [profiles/slingshot.yaml:93]
  envcfg_set GLOO_SOCKET_IFNAME hsn0
  # GPU RDMA between GPU and NIC of a NUMA node; said to be the default from ROCm 6.2 on,
  # which RCCL's source does not show, so it stays explicit [profiles/lumi-g.yaml:294]
  envcfg_set NCCL_NET_GDR_LEVEL PHB
  # rocFFT keeps a SQLite cache in the home folder [profiles/slingshot-rocm.yaml:63]
  envcfg_set ROCFFT_RTC_CACHE_PATH /dev/null
  envcfg_preset 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR MIOPEN_USER_DB_PATH MIOPEN_CUSTOM_CACHE_DIR AITER_JIT_DIR
  envcfg_preset "default: the step's first node" MASTER_ADDR
  envcfg_preset '' MASTER_PORT
  ENVCFG_ARGS+=("ENVCFG_CACHE_BASE=$ENVCFG_CACHE_BASE")
}

# modules: guard, begin, core, signals, where, inherited, arguments, srun, modules, folders, caches, masks, container, given, srun/task, runtimes/charliecloud, srun/ranks, end

envcfg_run python3 dump.py out 'a b'
