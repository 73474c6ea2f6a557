import lightgbm

X = [[-550000.0], [-90000.0], [2300000.0], [-250000.0], [900000.0], [130000.0], [230000.0], [-1710000.0], [-910000.0], [2069999.9999999998], [-100000.0], [-830000.0], [1100000.0], [570000.0], [-420000.0], [1000000.0]]
y = [0.8, 0.5, 0.2, 0.6, 0.4, 0.6, 0.5, 0.9, 0.8, 0.2, 0.5, 0.9, 0.3, 0.5, 0.6, 0.3]
model = lightgbm.LGBMRegressor(n_estimators=1, min_child_samples=2, path_smooth=10.0, monotone_constraints=[-1], n_jobs=1, verbose=-1, random_state=0).fit(X, y)
low, high = model.predict([[-90000.0], [20000.0]])
print("expected: the second is not higher than the first")
print("seen:", round(float(low), 6), round(float(high), 6))
