import lightgbm

X = [[49.0], [41.0], [45.0], [38.0], [57.0], [6.0], [4.0], [47.0], [3.0], [17.0], [11.0], [8.0], [30.0], [55.0], [58.0], [53.0], [51.0], [46.0], [15.0], [54.0], [31.0], [52.0], [9.0], [34.0], [12.0], [26.0], [21.0], [18.0], [50.0], [40.0]]
y = [0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1]
model = lightgbm.LGBMClassifier(n_estimators=1, min_child_samples=1, use_quantized_grad=True, quant_train_renew_leaf=True, monotone_constraints=[1], n_jobs=1, verbose=-1, random_state=0).fit(X, y)
low, high = model.predict_proba([[43.0], [45.0]])[:, 1]
print("expected: the second is not lower than the first")
print("seen:", round(float(low), 6), round(float(high), 6))
