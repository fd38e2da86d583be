"""Machine code clock by clock.

`text` reads it, `costs` says what each instruction takes, `path` which way a thread goes, `core`
runs an Xe core, `bringing` says what L2 and memory need, `reading` asks all of these, and `report`
is what they say.
"""
