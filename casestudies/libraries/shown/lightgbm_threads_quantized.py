import lightgbm
import numpy

X = [[3.0, 1.77], [4.0, -1.1], [6.0, 0.54], [7.0, -0.71]]
y = [1, 0, 0, 0]
one = lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=2, use_quantized_grad=True, n_jobs=1, deterministic=True, force_row_wise=True, verbose=-1, random_state=0).fit(X, y)
two = lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=2, use_quantized_grad=True, n_jobs=2, deterministic=True, force_row_wise=True, verbose=-1, random_state=0).fit(X, y)
print("expected: the same numbers")
print("seen:", *(numpy.round(a, 6).tolist() for a in (one.predict_proba(X), two.predict_proba(X))))
