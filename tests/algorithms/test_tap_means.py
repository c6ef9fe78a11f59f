"""Mean inputs per tap against the convolution itself (torch)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as functional

from qbc.algorithms.tap_means import ChannelMean, InverseVariance, TapMean, TapWindow, mean_output_error


@pytest.mark.parametrize("channel_first", [True, False])
@pytest.mark.parametrize(
    "kernel,stride,padding,dilation,groups",
    [((3, 3), 1, 1, 1, 1), ((5, 3), 2, 2, 1, 2), ((1, 1), 1, 0, 1, 1), ((3, 3), 1, 2, 2, 4), ((2, 4), 3, 0, 1, 1)],
)
def test_convolution(
    kernel: tuple[int, int], stride: int, padding: int, dilation: int, groups: int, channel_first: bool
) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 11, 14, 4)).astype(np.float32)
    weight = rng.standard_normal((8, *kernel, 4 // groups))
    torch_weight = torch.from_numpy(weight.transpose(0, 3, 1, 2).copy())
    planes = torch.from_numpy(x.transpose(0, 3, 1, 2).copy())
    y = functional.conv2d(planes.double(), torch_weight, None, stride, padding, dilation, groups)
    mean = TapMean(
        TapWindow(11, y.shape[2], kernel[0], stride, padding, dilation),
        TapWindow(14, y.shape[3], kernel[1], stride, padding, dilation),
    )
    for image in planes.numpy().transpose(0, 2, 3, 1) if channel_first else x:
        mean.add(image[None])
    got = mean_output_error(weight, mean.mean, groups)
    np.testing.assert_allclose(got, y.mean((0, 2, 3)).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("stride,padding,extra", [(2, 1, 1), (1, 0, 0), (3, 2, 2)])
def test_transposed_convolution(stride: int, padding: int, extra: int) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 5, 6, 3)).astype(np.float32)
    weight = rng.standard_normal((4, 3, 3, 3))
    torch_weight = torch.from_numpy(weight.transpose(3, 0, 1, 2).copy())
    planes = torch.from_numpy(x.transpose(0, 3, 1, 2).copy()).double()
    y = functional.conv_transpose2d(planes, torch_weight, None, stride, padding, extra)
    mean = TapMean(
        TapWindow(5, y.shape[2], 3, stride, padding, 1, True), TapWindow(6, y.shape[3], 3, stride, padding, 1, True)
    )
    mean.add(x)
    np.testing.assert_allclose(mean_output_error(weight, mean.mean), y.mean((0, 2, 3)).numpy(), rtol=1e-5, atol=1e-6)


def test_linear() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((4, 5, 6)).astype(np.float32)
    weight = rng.standard_normal((3, 6))
    mean = ChannelMean()
    mean.add(x[:1])
    mean.add(x[1:])
    expected = (x @ weight.T).reshape(-1, 3).mean(0)
    np.testing.assert_allclose(mean_output_error(weight, mean.mean), expected, rtol=1e-5, atol=1e-6)


def test_inverse_variance() -> None:
    rng = np.random.default_rng(4)
    x = (rng.standard_normal((3, 4, 5, 6)) * rng.uniform(0.1, 3.0, (3, 4, 1, 1))).astype(np.float32)
    spread = InverseVariance(2, 1e-3)
    spread.add(x[:1])
    spread.add(x[1:])
    expected = (1 / (x.reshape(12, 30).astype(np.float64).var(axis=1) + 1e-3)).mean()
    assert spread.mean == pytest.approx(expected, rel=1e-9)
