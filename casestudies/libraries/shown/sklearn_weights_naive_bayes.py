import numpy
import sklearn.naive_bayes

X = [[3.0], [2.0], [0.0]]
y = [0, 1, 1]
w = [1, 2, 1]
weighted = sklearn.naive_bayes.GaussianNB(var_smoothing=0.01).fit(X, y, sample_weight=w)
copied = sklearn.naive_bayes.GaussianNB(var_smoothing=0.01).fit(
    [x for x, n in zip(X, w) for _ in range(n)],
    [t for t, n in zip(y, w) for _ in range(n)],
)
print("expected: the same numbers")
print("seen:", *(numpy.round(a, 6).tolist() for a in (weighted.predict_proba(X), copied.predict_proba(X))))
