import xgboost

X = [[2.0, 3.0], [4.0, 1.0], [1.0, 5.0], [0.0, 3.0], [3.0, 3.0], [6.0, 4.0], [7.0, 4.0], [5.0, 3.0], [8.0, 1.0]]
y = [0.2, 1, 0.8, 2.4, 2.3, 1.9, 4.5, 0.6, 2.3]
model = xgboost.XGBRegressor(n_estimators=1, objective='reg:quantileerror', quantile_alpha=0.9, monotone_constraints='(1,0)', n_jobs=1, verbosity=0, random_state=0).fit(X, y)
low, high = model.predict([[6.5, 1.0], [7.0, 1.0]])
print("expected: the second is not lower than the first")
print("seen:", round(float(low), 6), round(float(high), 6))
