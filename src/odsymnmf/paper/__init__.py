"""The algorithms of the paper in plain NumPy and in its notation.

Slow, short and readable. The rest of the library does not use these files; tests compare the
compiled kernels with them. They follow "Off-diagonal Symmetric Nonnegative Matrix
Factorization" (Moutier, Vandaele, Gillis); ``ERRATA.md`` lists corrections of the text.

===================  ==================================================================
Algorithm 1          `algorithm_1.odsymnmf`, any rank-one solver, residual stored
equation (hk)        `algorithm_1.rank_one_l2`
Algorithm 2          `algorithm_2.odsymnmf_l2`, no residual
Algorithm 3          `algorithm_3.rank_one_l1`
Algorithm 4          `algorithm_4.odsymnmf_l1`, no residual
Algorithm 5          `algorithm_5.greedy_init`, residual stored
Algorithm 6          `algorithm_6.greedy_init`, no residual, order fixed after 2r picks
Appendix             `weighted_median.constrained_weighted_median`
objective, accuracy  `objective.off_diagonal_error`, `accuracy.accuracy`
Vandaele et al.      `symnmf.symnmf`, the baseline with the diagonal
===================  ==================================================================

Indices start at 0 here and at 1 in the paper. Settings that the paper does not give are arguments,
whose defaults reproduce its experiments (ERRATA.md gives the reasons).
"""
