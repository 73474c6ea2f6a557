import numpy
import onnxruntime
import skl2onnx
import sklearn.ensemble

X = [[-1.0], [0.0], [0.0], [-1.0]]
y = [1, 1, 0, 0]
model = sklearn.ensemble.GradientBoostingClassifier(n_estimators=1, loss='exponential', random_state=0).fit(X, y)
x = numpy.array(X, numpy.float32)
onnx = skl2onnx.to_onnx(model, x[:1], options={id(model): {'zipmap': False}}).SerializeToString()
session = onnxruntime.InferenceSession(onnx)
seen = session.run(None, {session.get_inputs()[0].name: x})[-1]
print("expected: the same numbers")
print("seen:", *(numpy.round(a, 6).tolist() for a in (model.predict_proba(X), seen)))
