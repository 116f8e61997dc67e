"""Where results live: places, the schema of ``result.zarr``, its writer and reader, kept steps and locks.

Whatever is written is written whole, reaches the disk before it counts as done, and is checked when it is
read. Only `Store.create` and `take_over` ever take away what a result holds; opening never writes.
"""
