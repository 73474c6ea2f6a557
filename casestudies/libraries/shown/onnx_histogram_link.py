import numpy
import onnxruntime
import skl2onnx
import sklearn.ensemble

X = [[2.0], [float("nan")]]
y = [0.7, 2]
model = sklearn.ensemble.HistGradientBoostingRegressor(max_iter=1, loss='poisson', random_state=0).fit(X, y)
x = numpy.array(X, numpy.float32)
onnx = skl2onnx.to_onnx(model, x[:1]).SerializeToString()
session = onnxruntime.InferenceSession(onnx)
seen = session.run(None, {session.get_inputs()[0].name: x})[-1]
print("expected: the same numbers")
print("seen:", *(numpy.round(a, 6).tolist() for a in (model.predict(X), seen)))
