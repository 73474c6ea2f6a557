import catboost
import numpy

X = [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
y = [0, 1]
model = catboost.CatBoostRegressor(iterations=1, grow_policy='Depthwise', thread_count=1, verbose=False, allow_writing_files=False, random_seed=0).fit(X, y)
pool = catboost.Pool(X, cat_features=None)
shap = model.get_feature_importance(pool, type="ShapValues").sum(axis=-1)
raw = model.predict(X, prediction_type="RawFormulaVal")
print("expected: the same numbers")
print("seen:", *(numpy.round(a, 6).tolist() for a in (shap, raw)))
