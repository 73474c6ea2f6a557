import lightgbm
import numpy
import onnxruntime

X = [[36.0, 82.0], [16.0, 20.0], [18.0, 94.0], [74.0, 98.0], [76.0, 66.0], [56.0, 38.0], [72.0, 22.0], [66.0, 54.0], [60.0, 26.0], [2.0, 52.0], [6.0, 68.0], [4.0, 48.0], [28.0, 2.0], [0.0, 18.0], [68.0, 30.0], [8.0, 50.0], [62.0, 78.0], [70.0, 10.0], [14.0, 104.0], [46.0, 106.0], [10.0, 116.0], [52.0, 108.0], [54.0, 118.0], [26.0, 56.0], [64.0, 114.0], [24.0, 6.0], [34.0, 4.0], [60.0, 62.0], [12.0, 46.0], [48.0, 16.0], [50.0, 34.0], [58.0, 70.0], [22.0, 76.0], [58.0, 96.0], [20.0, 84.0], [42.0, 90.0], [30.0, 110.0], [44.0, 74.0], [40.0, 14.0], [38.0, 24.0], [32.0, 60.0]]
y = [0.6, 6.6, 1.1, 1.2, 3.1, 0.4, 0.6, 2, 2.2, 3.3, 0.8, 1.5, 3.4, 0.9, 3.8, 1.5, 1.3, 4.7, 0.6, 3.3, 2.6, 1.1, 0.7, 1.3, 1.9, 5.3, 2.6, 1, 2.5, 3.6, 2.8, 3, 1.5, 0.7, 0.1, 7.7, 0.9, 1.4, 2.2, 7.2, 1.7]
model = lightgbm.LGBMRegressor(n_estimators=2, linear_tree=True, n_jobs=1, verbose=-1, random_state=0).fit(X, y)
x = numpy.array(X, numpy.float32)
from onnxmltools import convert
from onnxmltools.convert.common.data_types import FloatTensorType
types = [('X', FloatTensorType([None, 2]))]
made = convert.convert_lightgbm(model, initial_types=types)
onnx = made.SerializeToString()
session = onnxruntime.InferenceSession(onnx)
seen = session.run(None, {session.get_inputs()[0].name: x})[-1]
print("expected: the same numbers")
print("seen:", *(numpy.round(a, 6).tolist() for a in (model.predict(X), seen)))
