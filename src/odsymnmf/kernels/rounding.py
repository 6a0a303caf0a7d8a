"""What counts as rounding, in all kernels."""

# A leave-one-out sum this small relative to the largest value that its running sum has had is
# computed anew: rounding in the running sum has by then eaten too many of its digits.
CANCELLED = 1e-4
# A new entry this small relative to the terms that it is the difference of is rounding. It must
# not stay: alone in its column, it would drive other entries towards infinity.
ROUNDING = 1e-13
# Residuals below this fraction of A_ik are rounding (l1).
DUST = 1e-14
# Weights this close to half of the total are a tie, which goes to the smaller minimiser (l1).
TIE = 1e-12
# Below this a column is as good as zero, and 1 / a may overflow.
TINY = 1e-290
