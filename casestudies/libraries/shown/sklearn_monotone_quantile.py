import sklearn.ensemble

X = [[2.0], [0.0], [2.0], [1.0]]
y = [0, 0, 2, 1]
model = sklearn.ensemble.HistGradientBoostingRegressor(max_iter=1, min_samples_leaf=2, loss='quantile', quantile=0.1, monotonic_cst=[-1], random_state=0).fit(X, y)
low, high = model.predict([[1.5], [2.0]])
print("expected: the second is not higher than the first")
print("seen:", round(float(low), 6), round(float(high), 6))
