import lightgbm
import numpy
import onnxruntime

X = [[-2.0], [1.0], [-2.0], [0.0], [-1.0], [-2.0]]
y = [0.4, -1, -0.6, -1.5, -0.8, -0.6]
model = lightgbm.LGBMRegressor(n_estimators=1, min_child_samples=1, zero_as_missing=True, n_jobs=1, verbose=-1, random_state=0).fit(X, y)
x = numpy.array(X, numpy.float32)
from onnxmltools import convert
from onnxmltools.convert.common.data_types import FloatTensorType
types = [('X', FloatTensorType([None, 1]))]
made = convert.convert_lightgbm(model, initial_types=types)
onnx = made.SerializeToString()
session = onnxruntime.InferenceSession(onnx)
seen = session.run(None, {session.get_inputs()[0].name: x})[-1]
print("expected: the same numbers")
print("seen:", *(numpy.round(a, 6).tolist() for a in (model.predict(X), seen)))
