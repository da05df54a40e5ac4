"""Try to break what the documentation promises: kills, power loss, damaged input, load, failing disks and databases."""
