import sklearn.ensemble

import numpy
X = numpy.array([[2.0, 8.0], [4.0, 6.0], [4.0, 2.0], [0.0, 10.0]])
y = [1, 0, 2, 3]
import numpy, onnxruntime, skl2onnx
model = sklearn.ensemble.HistGradientBoostingRegressor(max_iter=1, min_samples_leaf=2, categorical_features=[1], random_state=0).fit(X, y)
x = numpy.array(X, numpy.float32)
options = {id(model): {'zipmap': False}} if False else None
onnx = skl2onnx.to_onnx(model, x[:1], options=options).SerializeToString()
session = onnxruntime.InferenceSession(onnx)
seen = session.run(None, {"X": x})[-1]
print("expected: the same numbers")
print("seen:", model.predict(X).tolist(), seen.tolist())
