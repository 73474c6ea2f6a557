import lightgbm

X = [[2.0, 0.0, 2.0], [1.0, 4.0, 2.0], [3.0, 1.0, 1.0], [0.0, 1.0, 2.0]]
y = [0, 0, 1, 1]
model = lightgbm.LGBMClassifier(n_estimators=20, min_child_samples=1, boosting_type='dart', data_sample_strategy='goss', min_data_in_bin=1, use_quantized_grad=True, monotone_constraints=[-1, 0, 0], n_jobs=1, verbose=-1, random_state=0).fit(X, y)
low, high = model.predict_proba([[1.5, 4.0, 2.0], [2.0, 4.0, 2.0]])[:, 1]
print("expected: the second is not higher than the first")
print("seen:", round(float(low), 6), round(float(high), 6))
