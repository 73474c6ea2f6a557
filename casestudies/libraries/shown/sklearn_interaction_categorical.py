import numpy
import sklearn.ensemble

X = numpy.array([[1.0, 1.0, 0.0], [2.0, 1.0, 1.0], [0.0, 1.0, 2.0]])
y = [1.7, 0.3, 0.4]
model = sklearn.ensemble.HistGradientBoostingRegressor(max_iter=1, min_samples_leaf=1, categorical_features=[1], interaction_cst=[[0], [1, 2]], random_state=0).fit(X, y)
both, neither, first, others = model.predict(numpy.array([[0.0, 1.0, 2.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 2.0]]))
print("expected: the first feature adds the same, whatever the others are")
print("seen:", round(float(first - neither), 6), round(float(both - others), 6))
