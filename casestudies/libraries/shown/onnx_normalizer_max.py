import numpy
import onnxruntime
import skl2onnx
import sklearn.neighbors
import sklearn.pipeline
import sklearn.preprocessing

X = [[-3.0], [1.0]]
y = [1, 0]
model = sklearn.pipeline.make_pipeline(sklearn.preprocessing.Normalizer(norm='max'), sklearn.neighbors.KNeighborsRegressor(n_neighbors=1)).fit(X, y)
x = numpy.array(X, numpy.float32)
onnx = skl2onnx.to_onnx(model, x[:1]).SerializeToString()
session = onnxruntime.InferenceSession(onnx)
seen = session.run(None, {session.get_inputs()[0].name: x})[-1]
print("expected: the same numbers")
print("seen:", *(numpy.round(a, 6).tolist() for a in (model.predict(X), seen)))
