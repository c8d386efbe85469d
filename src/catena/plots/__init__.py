"""`catena.plots`: runs, sparsity of matrices, times and predicted torques as figures of Matplotlib, in one style.

Needs Matplotlib, the extra `catena-dynamics[plot]`.
"""

from catena.plots.curves import prediction, scaling
from catena.plots.matrices import sparsity
from catena.plots.runs import motion

__all__ = ["motion", "prediction", "scaling", "sparsity"]
