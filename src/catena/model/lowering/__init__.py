"""A mechanism in internal frames with regrouped inertias, as algorithms want it."""
