"""Fields of draws on a CUDA device, by Triton: the same bits as `fields.philox` gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from nomos.device import Array

_BLOCK = 256  # counters of one program


@triton.jit
def _philox(counter, seed, number):
    a = tl.full((), 0xD2E7470EE14C6C93, tl.uint64)
    b = tl.full((), 0xCA5A826395121157, tl.uint64)
    w0 = counter
    w1 = counter ^ counter
    w2 = w1
    w3 = w1
    key = seed
    other = number
    for _ in tl.static_range(10):
        high = tl.umulhi(w0, a)
        low = w0 * a
        high_2 = tl.umulhi(w2, b)
        low_2 = w2 * b
        w0 = high_2 ^ w1 ^ key
        w1 = low_2
        w2 = high ^ w3 ^ other
        w3 = low
        key = key + tl.full((), 0x9E3779B97F4A7C15, tl.uint64)
        other = other + tl.full((), 0xBB67AE8584CAA73B, tl.uint64)
    return w0, w1, w2, w3


@triton.jit(do_not_specialize=["number"])
def _halves_kernel(out, seeds, number, counters, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    seed = tl.load(seeds + row).to(tl.uint64)
    field = number.to(tl.uint64)
    w0, w1, w2, w3 = _philox((at + 1).to(tl.uint64), seed, field)
    here = out + (row * counters + at) * 4
    inside = at < counters
    tl.store(here, w0.to(tl.int64), mask=inside)
    tl.store(here + 1, w1.to(tl.int64), mask=inside)
    tl.store(here + 2, w2.to(tl.int64), mask=inside)
    tl.store(here + 3, w3.to(tl.int64), mask=inside)


@triton.jit
def _pair(word, other, part: tl.constexpr):
    share = ((word >> (32 * part + 8)) & 0xFFFFFF).to(tl.int32).to(tl.float32)
    turn = ((other >> (32 * part + 8)) & 0xFFFFFF).to(tl.int32).to(tl.float32)
    radius = tl.sqrt(tl.log(1.0 - share * 5.9604644775390625e-8) * -2.0)
    angle = turn * 5.9604644775390625e-8 * 6.283185307179586
    return radius * tl.cos(angle), radius * tl.sin(angle)


@triton.jit
def _eight(v0, v1, v2, v3, v4, v5, v6, v7):
    even = tl.interleave(tl.interleave(v0, v4), tl.interleave(v2, v6))
    odd = tl.interleave(tl.interleave(v1, v5), tl.interleave(v3, v7))
    return tl.interleave(even, odd)  # so that neighbours are stored together


@triton.jit(do_not_specialize=["number"])
def _normal_kernel(out, seeds, number, half, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCK
    at = first + tl.arange(0, BLOCK)
    seed = tl.load(seeds + row).to(tl.uint64)
    field = number.to(tl.uint64)
    a0, a1, a2, a3 = _philox((at + 1).to(tl.uint64), seed, field)
    b0, b1, b2, b3 = _philox((at + 1 + half // 8).to(tl.uint64), seed, field)
    c0, s0 = _pair(a0, b0, 0)
    c1, s1 = _pair(a0, b0, 1)
    c2, s2 = _pair(a1, b1, 0)
    c3, s3 = _pair(a1, b1, 1)
    c4, s4 = _pair(a2, b2, 0)
    c5, s5 = _pair(a2, b2, 1)
    c6, s6 = _pair(a3, b3, 0)
    c7, s7 = _pair(a3, b3, 1)
    place = first * 8 + tl.arange(0, BLOCK * 8)
    here = out + row * 2 * half + place
    tl.store(here, _eight(c0, c1, c2, c3, c4, c5, c6, c7), mask=place < half)
    tl.store(here + half, _eight(s0, s1, s2, s3, s4, s5, s6, s7), mask=place < half)


def halves(seeds: Array, number: int, counters: int, device: str) -> Any:
    """Return words of 32 bits for each case, eight for each counter."""
    out = torch.empty(len(seeds), counters * 4, dtype=torch.int64, device=device)
    _launch(_halves_kernel, out, seeds, number, counters, counters)
    return out.view(torch.int32)


def normal(seeds: Array, number: int, half: int, device: str) -> Any:
    """Return twice `half` normal numbers for each case."""
    out = torch.empty(len(seeds), 2 * half, dtype=torch.float32, device=device)
    _launch(_normal_kernel, out, seeds, number, half, half // 8)
    return out


def _launch(
    kernel: Any, out: Any, seeds: Array, number: int, size: int, counters: int
) -> None:
    if not out.numel():
        return
    given = torch.from_numpy(np.ascontiguousarray(seeds)).to(out.device)
    grid = (len(seeds), triton.cdiv(counters, _BLOCK))
    with torch.cuda.device(out.device):
        kernel[grid](out, given, number, size, BLOCK=_BLOCK)
