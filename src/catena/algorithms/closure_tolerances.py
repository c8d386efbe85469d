"""When rows of constraints count as nothing, as dependent, or as too nearly so: every such number, with its reason.

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
