import os

# By default threads wait in a spin and so take the cores from those that work as soon as anything else runs: one DS3
# iteration was seen to take 5 s instead of 0.1 s. Waiting passively costs ours up to a factor of two in short steps on
# many idle cores, so it never flatters; there, OMP_WAIT_POLICY=ACTIVE shows more. It must be set before torch loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
