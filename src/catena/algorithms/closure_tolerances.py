"""When rows of constraints count as nothing, as dependent or as met: every such number, with its reason.

A row is one direction that a constraint holds. Ω = J M⁻¹Jᵀ squares what J has: a share s of J is s² in Ω. Rounding
leaves 1e-16 of what is added up, a configuration that was closed in double precision some 1e-12.
"""

NEGLIGIBLE = 1e-10
"""A row of J belongs to a direction that nothing moves along if it is smaller than this, beside what a row has in which
something moves: 1 where it turns, the mechanism's size where it shifts. Never beside itself: what rounding leaves of
such a row would count in full."""

NOTHING = 1e-20
"""The same for a diagonal entry of Ω beside the largest: the square."""

DEPENDENT_ROWS = 1e-9
"""Singular values of J, with rows of length one, below this share of the largest are zero: well above what rounding and
closing leave, well below mechanisms that are merely near a singular configuration."""

DEPENDENT_MOTIONS = 1e-10
"""Singular values of B = D^−½ U⁻¹ Jᵀ below this share of the largest are zero. Rows keep their sizes there, and masses
spread them further than lengths do: so it is smaller."""

INDEPENDENT = 1e-7
"""Rows of which the others leave less than this in Ω, relative to their size, are left to singular values of B: solving
with Ω would lose as many digits as that has, and half of them are left."""

INDEPENDENT_ONCE = 1e-5
"""The same for derivatives, whose many columns are solved for once each, where all else is solved again for what
rounding has left: two digits more are kept in exchange."""

UNSURE = 1e-6
"""Inverses of operators are refused where rounding their equations changes what they give by a larger share: for a
contact system, where its condition is above some 1e10. If constraints are redundant, that share is 1e-2 and more."""

SINGULAR_ARM = 1e-12
"""An arm on an object is singular whose Ω, with a diagonal of ones, has a smaller eigenvalue: the arms are then solved
together, as all else is, where what the others hold may make up for it. That Ω has some 1e-15 of rounding."""

LEFT = 1e-13
"""What solving arm by arm may leave of the rates, relative to all that is added up in them: rounding, a thousand times.
Where it leaves more, all constraints are solved together."""

LEAST_PIVOT = 1e-16
"""Eigenvalues of Ω with a diagonal of ones are inverted as if they were not smaller: rounding is all that is in those
that are, and such samples are left to singular values of B."""

DAMPING, ROUNDS = 1e-10, 4
"""How much of itself the diagonal of Ω gets on top in steps, and how often the contact system is solved. The share
of it in what a direction then has in Ω, to the power of the rounds, is the share that its accelerations lack."""

CORRECTIONS = 3
"""How often q and v are corrected at the end of a step. All go by the factors at its end, so each leaves a share of
what was off that is as small as that itself."""

CLOSED = 1e-13
"""Loops that are open by no more, in m and rad, are not corrected any more after a step: rounding of placements."""

ADDED = 1e-9
"""What sparse elimination adds to the diagonal of Ω, relative to its largest entry, so that constraints may be
redundant. Each round of improvement gains as many digits where constraints are independent."""

IMPROVEMENTS, SETTLED, NEARLY = 12, 1e-13, 1e-10
"""So often a solution by sparse elimination is improved, until so little is left of the rates that it is made of:
rounding; and what must do at last, where directions are nearly dependent, before singular values are asked."""

CONSISTENT = 1e-7
"""Accelerations and torques that users give may be so far from what constraints allow, relative to their size: half
of the digits have to be right."""

SHARED, TOUCHING = 1e-7, 1e-9
"""Constraints have a part in a redundant direction if that is more than the first, beside the largest part; and belong
to one group if the product of their parts is more than the second. `close` leaves 1e-10."""

OPEN = 1e-8
"""Loops that are open by more at the end of a projected run, in m or rad, are warned of: far more than steps leave that
could close them."""
