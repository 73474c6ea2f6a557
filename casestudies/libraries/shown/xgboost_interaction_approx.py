import xgboost

X = [[2.0, 1.0, 2.0], [0.0, 2.0, 3.0], [1.0, 5.0, 0.0]]
y = [0.3, 0.8, 2.1]
model = xgboost.XGBRegressor(n_estimators=2, tree_method='approx', colsample_bynode=0.5, num_parallel_tree=4, interaction_constraints='[[0], [1, 2]]', n_jobs=1, verbosity=0, random_state=0).fit(X, y)
both, neither, first, others = model.predict([[1.0, 5.0, 0.0], [2.0, 1.0, 2.0], [1.0, 1.0, 2.0], [2.0, 5.0, 0.0]])
print("expected: the first feature adds the same, whatever the others are")
print("seen:", round(float(first - neither), 6), round(float(both - others), 6))
