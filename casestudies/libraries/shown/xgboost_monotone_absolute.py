import xgboost

X = [[-0.24, 0.0], [0.12, 0.0], [-0.74, 2.0], [1.91, 2.0], [float("nan"), 0.0]]
y = [4, 0, 1, 2, 3]
model = xgboost.XGBRegressor(n_estimators=1, objective='reg:absoluteerror', monotone_constraints='(-1,0)', n_jobs=1, verbosity=0, random_state=0).fit(X, y)
low, high = model.predict([[-1.74, 0.0], [-0.74, 0.0]])
print("expected: the second is not higher than the first")
print("seen:", round(float(low), 6), round(float(high), 6))
