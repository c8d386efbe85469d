"""Files that describe mechanisms: URDF and MJCF."""
