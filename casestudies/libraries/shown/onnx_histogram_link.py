import sklearn.ensemble

X = [[0.0]]
y = [0.6]
import numpy, onnxruntime, skl2onnx
model = sklearn.ensemble.HistGradientBoostingRegressor(max_iter=1, loss='poisson', random_state=0).fit(X, y)
x = numpy.array(X, numpy.float32)
options = {id(model): {'zipmap': False}} if False else None
onnx = skl2onnx.to_onnx(model, x[:1], options=options).SerializeToString()
session = onnxruntime.InferenceSession(onnx)
seen = session.run(None, {"X": x})[-1]
print("expected: the same numbers")
print("seen:", model.predict(X).tolist(), seen.tolist())
