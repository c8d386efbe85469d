"""What Catena is extended with: algorithms, questions, joint types and forces of one's own; see the guide to it."""

from catena.algorithms.force_elements import Action, ForceElement
from catena.algorithms.points import inside, motions, point_mass, squared
from catena.functions import engine
from catena.functions.function import Function
from catena.functions.question import question
from catena.functions.recipes import columns
from catena.model.joints import JointType, Screw, add_joint_type
from catena.scalars import absolute, is_zero, maximum, minimum, sincos, sqrt, where
from catena.spatial import *  # noqa: F403
from catena.spatial import __all__ as _spatial
from catena.spatial.pose import Pose

__all__ = [
    "Action",
    "ForceElement",
    "Function",
    "JointType",
    "Pose",
    "Screw",
    "absolute",
    "add_joint_type",
    "columns",
    "engine",
    "inside",
    "is_zero",
    "maximum",
    "minimum",
    "motions",
    "point_mass",
    "question",
    "sincos",
    "sqrt",
    "squared",
    "where",
]
__all__ += _spatial
