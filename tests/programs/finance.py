"""Finance as its authors write it."""

import math

import numpy as np


def normal_cdf(x):
    """Abramowitz and Stegun, formula 26.2.17."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (
        0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    )
    tail = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) * poly
    return np.where(x >= 0, 1.0 - tail, tail)


def black_scholes(spot, strike, t, rate, vol):
    """Prices of calls and puts that expire together."""
    sd = vol * math.sqrt(t)
    d1 = (np.log(spot / strike) + (rate + 0.5 * vol**2) * t) / sd
    d2 = d1 - sd
    discount = math.exp(-rate * t)
    call = spot * normal_cdf(d1) - strike * discount * normal_cdf(d2)
    put = call - spot + strike * discount
    return call, put


def options(seed, size):
    rng = np.random.default_rng(seed)
    t, rate, vol = 0.5 + 0.1 * seed, 0.02 * seed, 0.2 + 0.01 * seed
    return rng.uniform(80, 120, size), rng.uniform(80, 120, size), t, rate, vol


def asian_option(s0, k, r, sigma, T, rng, n_paths, n_steps=12):
    dt = T / n_steps
    z = rng.standard_normal((n_paths, n_steps))
    log_s = np.log(s0) + np.cumsum((r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z, axis=1)
    payoff = np.maximum(np.exp(log_s).mean(axis=1) - k, 0.0)
    price = math.exp(-r * T) * payoff.mean()
    error = payoff.std(ddof=1) / math.sqrt(n_paths)
    return price, error


def market(seed, size):
    return 100.0, 95.0 + seed, 0.03, 0.25, 1.0, np.random.default_rng(seed), size


def max_drawdown(prices):
    """The worst loss from a peak, and the days of the peak and of the trough."""
    peak = np.maximum.accumulate(prices)
    dd = prices / peak - 1.0
    trough = dd.argmin()
    top = prices[: trough + 1].argmax()
    return -dd.min(), top, trough


def prices(seed, size):
    rng = np.random.default_rng(seed)
    return (100 * np.exp(np.cumsum(0.01 * rng.standard_normal(size))),)


def until_peak(prices):
    """Returns up to the highest price."""
    rise = prices[: prices.argmax() + 1]
    gains = np.diff(rise) / rise[:-1]
    return gains.sum(), rise[-1] / rise[0] - 1


def portfolio_risk(returns, weights):
    """The volatility of a portfolio, and the share of each asset in it."""
    assert abs(weights.sum() - 1.0) < 1e-8, "weights do not sum to one"
    cov = np.cov(returns, rowvar=False)
    variance = weights @ cov @ weights
    marginal = cov @ weights
    return math.sqrt(variance), weights * marginal / variance


def portfolio(seed, size):
    rng = np.random.default_rng(seed)
    w = rng.random(5)
    return 0.01 * rng.standard_normal((size, 5)), w / w.sum()


def too_heavy(seed, size):
    returns, w = portfolio(seed, size)
    return returns, 2 * w


def ma_cross(close, fast=3, slow=8):
    """Long while the fast average is above the slow one; cost for each trade."""
    c = np.cumsum(close)
    fast_ma = (c[slow - 1 :] - np.concatenate(([0.0], c))[slow - fast : -fast]) / fast
    slow_ma = (c[slow - 1 :] - np.concatenate(([0.0], c))[:-slow]) / slow
    position = np.where(fast_ma > slow_ma, 1.0, 0.0)
    trades = np.abs(np.diff(position, prepend=0.0))
    daily = np.diff(close[slow - 1 :]) / close[slow - 1 : -1]
    pnl = position[:-1] * daily - 0.001 * trades[:-1]
    sharpe = pnl.mean() / max(pnl.std(), 1e-12) * np.sqrt(252)
    return np.cumprod(1 + pnl), sharpe, int(trades.sum())


def binomial_put(spot, strike, r, sigma, T, n):
    """An American put by backward induction."""
    dt = T / n
    u = math.exp(sigma * math.sqrt(dt))
    d = 1.0 / u
    p = (math.exp(r * dt) - d) / (u - d)
    disc = math.exp(-r * dt)
    j = np.arange(n + 1)
    S = spot * u**j * d ** (n - j)
    value = np.maximum(strike - S, 0)
    for _ in range(n):
        S = S[:-1] * u
        value = disc * (p * value[1:] + (1 - p) * value[:-1])
        value = np.maximum(value, strike - S)
    return float(value[0])


def tree(seed, size):
    return 100.0 + seed, 105.0, 0.05, 0.3, 1.0, size


def present_value(cashflows, rate):
    """Value now of daily payments; a total that is lost is no value."""
    years = np.arange(len(cashflows)) / 365
    total = float((cashflows / (1 + rate) ** years).sum())
    if total < 0:
        return 0.0
    return total


def payments(seed, size):
    rng = np.random.default_rng(seed)
    return rng.random(size), 0.01 * seed
