import os

# By default, waiting threads spin, and so take cores from working threads as soon as anything else runs: one DS3
# iteration was seen to take 5 s instead of 0.1 s. Passive waiting makes our short steps up to twice as slow on many
# idle cores, so it never flatters us; OMP_WAIT_POLICY=ACTIVE is faster there. It must be set before torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
