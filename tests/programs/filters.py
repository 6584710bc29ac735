"""Filters of signals and images as their authors write them."""

import numpy as np


def fir(signal, taps):
    """A causal filter: past samples weighted by the taps."""
    out = np.zeros(len(signal))
    for k, tap in enumerate(taps):
        out[k:] += tap * signal[: len(signal) - k]
    return out


def samples(seed, size):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(size), np.hamming(7)


def despeckle(img):
    """The median of each pixel and its eight neighbours."""
    p = np.pad(img, 1, mode="edge")
    h, w = img.shape
    stack = np.stack([p[i : i + h, j : j + w] for i in range(3) for j in range(3)])
    return np.median(stack, axis=0)


def picture(seed, size):
    return (np.random.default_rng(seed).random((size, size)),)


def sobel(image):
    if image.ndim != 2:
        raise ValueError(f"expected a 2-d image, got {image.ndim} dimensions")
    p = np.pad(image.astype(float), 1, mode="edge")
    gx = (p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[1:-1, :-2] + p[2:, :-2])
    gy = (p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:])
    magnitude = np.hypot(gx, gy)
    magnitude *= 255.0 / magnitude.max()
    return magnitude, np.arctan2(gy, gx)


def grey(seed, size):
    return (np.random.default_rng(seed).integers(0, 256, (size, size), dtype=np.uint8),)


def coloured(seed, size):
    return (np.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=np.uint8),)


def conv2d(image, kernel):
    kh, kw = kernel.shape
    oh, ow = image.shape[0] - kh + 1, image.shape[1] - kw + 1
    result = np.zeros((oh, ow), dtype=image.dtype)
    for i in range(kh):
        for j in range(kw):
            result += kernel[i, j] * image[i : i + oh, j : j + ow]
    return result


def image_and_kernel(seed, size):
    rng = np.random.default_rng(seed)
    return rng.random((size, size)), rng.random((3, 3))


def gaussian_blur(image, sigma=1.0):
    radius = int(3 * sigma + 0.5)
    t = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * (t / sigma) ** 2)
    weights /= weights.sum()
    tmp = np.pad(image, ((radius, radius), (0, 0)), mode="reflect")
    rows = sum(w * tmp[i : i + image.shape[0]] for i, w in enumerate(weights))
    tmp = np.pad(rows, ((0, 0), (radius, radius)), mode="reflect")
    return sum(w * tmp[:, i : i + image.shape[1]] for i, w in enumerate(weights))


def hist_equalize(img, levels=256):
    counts = np.bincount(img.ravel(), minlength=levels)
    cdf = counts.cumsum()
    cdf_min = cdf[cdf > 0].min()
    lut = np.round((cdf - cdf_min) / (img.size - cdf_min) * (levels - 1))
    return np.clip(lut, 0, levels - 1).astype(np.uint8)[img]


def otsu(img):
    """The threshold that parts dark from light pixels, and the mask."""
    hist, _ = np.histogram(img, bins=64, range=(0.0, 1.0))
    p = hist / hist.sum()
    omega = np.cumsum(p)
    mu = np.cumsum(p * np.arange(64))
    denominator = omega * (1 - omega)
    between = np.zeros(64)
    ok = denominator > 1e-12
    between[ok] = (mu[-1] * omega[ok] - mu[ok]) ** 2 / denominator[ok]
    threshold = (between.argmax() + 1) / 64
    return threshold, img > threshold


def gamma_correct(rgb, gamma, out):
    """Brighten an image of bytes into a buffer of the caller."""
    linear = (rgb / 255.0) ** (1.0 / gamma)
    luma = linear @ np.array([0.299, 0.587, 0.114])
    linear *= (0.5 + 0.5 * luma)[..., None]
    out[...] = np.clip(linear * 255 + 0.5, 0, 255).astype(np.uint8)


def photo(seed, size):
    (rgb,) = coloured(seed, size)
    return rgb, 1.8 + 0.1 * seed, np.empty_like(rgb)


def smooth(x, alpha):
    """Exponential smoothing, written as the recurrence that it is."""
    y = np.empty(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = alpha * x[i] + (1 - alpha) * y[i - 1]
    return y


def series(seed, size):
    rng = np.random.default_rng(seed)
    return rng.random(size), 0.1 + 0.8 * rng.random()
