"""Add up over all processes by JAX; each prints a line of JSON (see said.py)."""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from said import say

jax.distributed.initialize()
mesh = Mesh(np.array(jax.devices()), ("i",))
mine = np.full(jax.local_device_count(), jax.process_index() + 1.0, dtype=np.float32)
every = jax.make_array_from_process_local_data(NamedSharding(mesh, P("i")), mine)
add = jax.jit(
    jax.shard_map(
        lambda x: jax.lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P()
    )
)
total = add(every).addressable_data(0)[0]
say("jax", jax.process_index(), jax.process_count(), total)
jax.distributed.shutdown()
