import numpy
import sklearn.ensemble

X = [[1.0], [0.0]]
y = [0, 1]
w = [1, 1]
weighted = sklearn.ensemble.HistGradientBoostingRegressor(max_iter=1, loss='absolute_error', min_samples_leaf=1, random_state=0).fit(X, y, sample_weight=w)
copied = sklearn.ensemble.HistGradientBoostingRegressor(max_iter=1, loss='absolute_error', min_samples_leaf=1, random_state=0).fit(
    [x for x, n in zip(X, w) for _ in range(n)],
    [t for t, n in zip(y, w) for _ in range(n)],
)
print("expected: the same numbers")
print("seen:", *(numpy.round(a, 6).tolist() for a in (weighted.predict(X), copied.predict(X))))
