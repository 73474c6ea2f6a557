"""How a model is trained further: one trainer for networks, one for all that can `fit`.

`FineTuner` goes on from the weights of a module of torch, with the failing cases of specs
in its loss; networks of ONNX files and of scikit-learn become modules for that, and what
is written back is their own kind of file. `Retrainer` trains an estimator again from
scratch, under the constraints that its library has, with failing cases added to the data.
`choose` picks one, by what the kind of the model says (`ModelKind.to_train`, `trainer`).

The invariant: a trainer's model answers, before the first round, as the file that it was
made from (`check_same`), and the file itself is never written to. Both trainers have the
methods that rounds call (`begin`, `train`, `snapshot`, `restore`, `content`); they share no
base class, since they share no code.
"""
