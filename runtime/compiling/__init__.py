"""From kernel source to machine code: one compilation per key and process.

May import `base`, `passes.ir`, `runtime.llvm`, `runtime.object_cache`, `runtime.emission`,
`runtime.elementary`, `runtime.names`.
"""
