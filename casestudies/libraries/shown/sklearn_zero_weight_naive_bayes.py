import numpy
import sklearn.naive_bayes

X = [[1.0], [0.0], [1.0]]
y = [1, 1, 0]
w = [1, 0, 1]
present = sklearn.naive_bayes.GaussianNB().fit(X, y, sample_weight=w)
absent = sklearn.naive_bayes.GaussianNB().fit(
    [x for x, n in zip(X, w) if n],
    [t for t, n in zip(y, w) if n],
    sample_weight=[n for n in w if n],
)
print("expected: the same numbers")
print("seen:", *(numpy.round(a, 6).tolist() for a in (present.predict_proba(X), absent.predict_proba(X))))
