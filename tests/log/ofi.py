"""The network plugin, by version: how it is looked for, and what it says of itself."""

from __future__ import annotations

from dialects import Dialect
from shape import Rank, Said

NOT_THERE = "cannot open shared object file: No such file or directory"


def plugin_search(rank: Rank) -> list[Said]:
    """Return how the process looks for the plugin."""
    d = rank.dialect
    if rank.job.network == "ofi" and rank.node not in rank.job.fallen:
        return plugin_found(d)
    return [Said(text, of) for text, of in plugin_missing(d)]


def plugin_missing(d: Dialect) -> list[tuple[str, str]]:
    """Return the words and their subsystems; one fact in up to three lines."""
    name = d.net_library
    inside = "using internal implementation"
    where = "INIT,NET"
    if d.version < (2, 5):
        texts = [f"NET/Plugin : No plugin found ({name})."]
    elif d.version < (2, 17):
        texts = [f"NET/Plugin : No plugin found ({name}), {inside}"]
    elif d.version < (2, 19):
        load = f"NET/Plugin : Plugin load ({name}) returned 2 : {name}: {NOT_THERE}"
        texts = [load, f"NET/Plugin : No plugin found, {inside}"]
    elif d.version < (2, 21):
        texts = [
            f"NET/Plugin : dlerror={name}: {NOT_THERE} No plugin found ({name}), {inside}"
        ]
    elif d.version < (2, 22):
        load = f"Plugin load returned 2 : {name}: {NOT_THERE} : when loading {name}"
        return [
            (f"NET/Plugin: No plugin found ({name})", where),
            (f"NET/Plugin: {load}", "ENV,TUNING"),
            ("NET/Plugin: Using internal network plugin.", where),
        ]
    elif d.version < (2, 26):
        texts = [f"NET/Plugin: Could not find: {name}. Using internal network plugin."]
    elif d.version < (2, 27) or (not d.rccl and d.version < (2, 28)):
        texts = [f"NET/Plugin: Could not find: {name}. Using internal net plugin."]
    else:
        texts = [f"NET/Plugin: Could not find: {name}{' ' if d.rccl else ''}"]
    return [(text, where) for text in texts]


def plugin_found(d: Dialect) -> list[Said]:
    """Return the lines of a plugin that was loaded; silent where both are of one age."""
    api = min(d.plugin.api, d.api)
    said = []
    if d.version >= (2, 12):
        said += [
            f"NET/Plugin: Failed to find ncclNetPlugin_v{newer} symbol."
            for newer in range(d.api, api, -1)
        ]
    if d.version >= (2, 24) or (d.version >= (2, 13) and api < d.api):
        said.append(f"NET/Plugin: Loaded net plugin {d.plugin.network} (v{api})")
    if (2, 7) <= d.version < (2, 28):
        said.append(f"NET/Plugin: Failed to find ncclCollNetPlugin_v{d.api} symbol.")
    if (2, 19) <= d.version < (2, 26):
        missing = "NET/Plugin: Failed to find ncclCollNetPlugin symbol (>= v5)."
        said.append(
            f"{missing} ncclCollNetPlugin symbols v4 and lower are not supported."
        )
    elif (2, 13) <= d.version < (2, 19):
        said.append("NET/Plugin: Failed to find ncclCollNetPlugin symbol (v4 or v5).")
    if d.version >= (2, 28):
        said.append(f"Successfully loaded external network plugin {d.net_library}")
    elif d.version >= (2, 27):
        said.append(f"Successfully loaded external plugin {d.net_library}")
    return [Said(text, "INIT,NET") for text in said]


def plugin_start(rank: Rank) -> list[Said]:
    """Return what the plugin says of itself as it starts."""
    plugin = rank.dialect.plugin
    cuda = rank.dialect.driver or "11000"
    said = []
    at = plugin.version
    if plugin.package == "aws-ofi-rccl":
        said = [
            f"Using aws-ofi-rccl {plugin.shown}",
            "Setting FI_EFA_FORK_SAFE environment variable to 1",
            f"Selected Provider is {rank.job.provider}",
        ]
        return [_ofi(text) for text in said]
    if at >= (1, 7, 1):
        said.append(f"Initializing {plugin.package} {plugin.shown}")
    elif at >= (1, 1, 4):
        said.append(f"Using {plugin.package} {plugin.shown}")
    if at >= (1, 8):
        said.append(f"Using Libfabric version {plugin.libfabric}")
    if rank.dialect.rccl and at >= (1, 18):
        said.append("Using HIP driver version 70226043 with runtime 70226043")
    elif not rank.dialect.rccl and at >= (1, 8):
        runtime = f" with runtime {cuda}" if at >= (1, 13) else ""
        said.append(f"Using CUDA driver version {cuda}{runtime}")
    efa = rank.job.provider == "efa"
    if at >= (1, 18):
        said.append(f"Plugin selected platform: {'AWS' if efa else 'Default'}")
    if efa and at >= (1, 6):
        said += ["Configuring AWS-specific options", "Setting provider_filter to efa"]
    if (1, 1, 5) <= at < (1, 16):
        said.append("Setting FI_EFA_FORK_SAFE environment variable to 1")
    return [_ofi(text) for text in said]


def provider(rank: Rank) -> list[Said]:
    """Return which provider the plugin chose, and what it makes of it."""
    plugin = rank.dialect.plugin
    at = plugin.version
    if plugin.package == "aws-ofi-rccl":
        return []
    name, nics = rank.job.provider, rank.job.nics
    protocol = "Using transport protocol SENDRECV"
    said = []
    if at >= (1, 14):
        if name == "cxi":
            said.append("No eligible providers were found")
        said.append(
            f"Selected provider is {name}, fabric is {name} (found {nics} nics)"
        )
        said.append(protocol)
    else:
        found = f" (found {nics} nics)" if at >= (1, 6) else ""
        said += [protocol] if at >= (1, 7) else []
        said.append(f"Selected Provider is {name}{found}")
    if (1, 10) <= at < (1, 18):
        said.append("Creating one domain per process")
    if not rank.has_gdr and at >= (1, 7, 4):
        said.append("Could not disable CUDA API usage for HMEM, disabling GDR")
    if (1, 10) <= at < (1, 13):
        said.append("Global registrations supported")
    if at >= (1, 13):
        said += [
            f"Support for {kind} registrations: {'true' if has else 'false'}"
            for kind, has in (("global", name == "cxi"), ("DMA-BUF", rank.has_gdr))
        ]
    if at >= (1, 16):
        if not rank.has_gdr:
            said.append("Need to force simple protocol: GDR not supported")
        said.append("Adding FI_EFA_FORK_SAFE=1 to environment")
        if not rank.has_gdr:
            said.append("Adding NCCL_PROTO=simple to environment")
    if at >= (1, 17):
        said.append("Requesting progress model AUTO")
    return [_ofi(text) for text in said]


def plugin_failure(rank: Rank) -> list[Said]:
    """Return the end of a plugin that found no way to start."""
    plugin = rank.dialect.plugin
    at = plugin.version
    pretty = at >= (1, 16)
    create = "nccl_net_ofi_create_plugin"
    create = f"int {create}(nccl_net_ofi_plugin_t**)" if pretty else create
    start = "ncclResult_t nccl_net_ofi_init(ncclDebugLogger_t)"
    said = []
    if at >= (1, 13):
        words = "Unable to find a protocol that worked.  Failing initialization."
        said.append((f"{create}:268", words))
    said.append((f"{create}:334", f"{plugin.package} initialization failed"))
    if at >= (1, 13):
        where = start if pretty else "nccl_net_ofi_init"
        said.append((f"{where}:79", "Initializing plugin failed"))
    return [
        Said(f"NET/OFI {text}", "INIT,NET", "WARN", where, by_plugin=True)
        for where, text in said
    ]


def _ofi(text: str) -> Said:
    return Said(f"NET/OFI {text}", "INIT,NET")
