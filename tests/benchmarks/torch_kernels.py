"""Measures what single kernels cost in PyTorch on one device: op, shape, format, microseconds, bytes, FLOPs.

    torch_kernels.py --out kernels.csv
    torch_kernels.py --drawn 2000 --out drawn.csv   products of that many drawn shapes, and grouped products
    torch_kernels.py --rest 900 --out rest.csv      every other op of drawn shapes: attention, norms, activations, losses

Every kernel is recorded several times in a graph and replayed, so that the host's launches are not in its time; the
calls go around copies of their operands that together exceed the level-2 cache.  bytes are what must be read and
written at least.  Rows "host ..." are the other side: what issuing one op costs the host."""
import argparse
import csv
import functools
import random
import statistics
import time

import torch
import torch.nn.functional as F

DEVICE = "cuda"
FORMATS = {"bf16": torch.bfloat16, "fp32": torch.float32, "tf32": torch.float32}
CACHE = 120e6  # bytes; over twice the level-2 cache of an H100


def on_device(call, copies):
    """Median microseconds of one call(i), where i goes around the copies."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(stream):
        call(0)
        call(copies - 1)
        start.record()
        call(0)
        end.record()
    stream.synchronize()
    calls = max(copies, min(50, int(1000 / max(1.0, 1000 * start.elapsed_time(end)))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for i in range(calls):
            call(i % copies)
    graph.replay()
    times = []
    for _ in range(5):
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1000 * start.elapsed_time(end) / calls)
    return statistics.median(times)


def on_host(call, count=300):
    """Microseconds that the host needs to issue one call, the device being quicker."""
    for _ in range(20):
        call()
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(5):
        before = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, time.perf_counter() - before)
        torch.cuda.synchronize()
    return 1e6 * best / count


class Table:
    def __init__(self, path, seconds):
        self.file = open(path, "w", newline="")
        self.rows = csv.writer(self.file, lineterminator="\n")
        self.rows.writerow("op a b c d format median_us bytes flops".split())
        self.end = time.perf_counter() + seconds

    def device(self, op, shape, form, nbytes, flops, make, call):
        """make() returns the operands of one call, call(*operands) does it."""
        if time.perf_counter() > self.end:
            return
        torch.backends.cuda.matmul.allow_tf32 = form == "tf32"
        try:
            copies = max(1, min(8, int(CACHE / nbytes)))
            operands = [make() for _ in range(copies)]
            took = on_device(lambda i: call(*operands[i]), copies)
        except Exception as error:  # a kernel that this release does not have
            print(f"{op} {shape} {form}: {type(error).__name__}: {str(error).splitlines()[0][:160]}", flush=True)
            torch.cuda.synchronize()
            return
        self.write(op, shape, form, took, nbytes, flops)

    def host(self, op, call):
        self.write("host " + op, (), "", on_host(call), "", "")

    def write(self, op, shape, form, took, nbytes, flops):
        self.rows.writerow([op, *shape, *[""] * (4 - len(shape)), form, f"{took:.5g}", nbytes, flops])
        self.file.flush()


def normal(*shape, form="bf16", grad=False):
    return torch.randn(*shape, device=DEVICE, dtype=FORMATS[form]).requires_grad_(grad)


def width(form):
    return 2 if form == "bf16" else 4


def product(table, m, n, k, form="bf16", op="product"):
    """x W^T of forward; nn is its gradient of x, tn that of W: shape is always m, n, k of the product itself."""
    def make():
        a = normal(k, m, form=form).t() if op == "product tn" else normal(m, k, form=form)
        b = normal(n, k, form=form).t() if op == "product" else normal(k, n, form=form)
        return a, b, torch.empty(m, n, device=DEVICE, dtype=FORMATS[form])

    table.device(op, (m, n, k), form, width(form) * (m * k + n * k + m * n), 2 * m * n * k, make,
                 lambda a, b, out: torch.mm(a, b, out=out))


def products(table):
    for h in (768, 1024, 2048, 4096):
        for n, k in ((3 * h, h), (h, h), (4 * h, h), (h, 4 * h)):
            for m in (512, 1024, 2048, 4096, 8192, 16384):
                product(table, m, n, k)
            for m in (2048, 8192):
                product(table, m, k, n, op="product nn")
                product(table, n, k, m, op="product tn")
    for n, k in ((50304, 768), (50257, 768), (50304, 1024), (128256, 2048), (32000, 2048), (32000, 1024), (30528, 1024)):
        for m in (1024, 4096, 16384):
            product(table, m, n, k)
        product(table, 4096, k, n, op="product nn")
        product(table, n, k, 4096, op="product tn")
    for size in (256, 512, 1024, 2048, 4096, 8192):
        product(table, size, size, size)
    for step in range(1, 33):
        product(table, 64 * step, 4096, 4096)
        product(table, 4096, 128 * step, 4096)
        product(table, 4096, 4096, 64 * step)
    for odd in (1, 2, 4, 8, 16, 32, 64, 65, 72, 96):
        product(table, 4096, 4096 + odd, 4096)
        product(table, 4096, 4096, 4096 + odd)
        product(table, 4096 + odd, 4096, 4096)
    for n in range(1024, 4097, 256):
        product(table, 1024, n, 1024)
    for form in ("fp32", "tf32"):
        for h in (768, 1024, 2048):
            for n, k in ((3 * h, h), (h, h), (4 * h, h), (h, 4 * h)):
                for m in (1024, 4096, 8192):
                    product(table, m, n, k, form)
        for size in (512, 1024, 2048, 4096):
            product(table, size, size, size, form)


def attention(table):
    from torch.nn.attention import SDPBackend as B, sdpa_kernel
    kinds = {"flash": B.FLASH_ATTENTION, "cudnn": B.CUDNN_ATTENTION, "efficient": B.EFFICIENT_ATTENTION}

    def one(kind, batch, heads, tokens, size, causal, form="bf16", kv=None):
        kv = kv or heads

        def make():
            return [normal(batch, h, tokens, size, form=form, grad=True) for h in (heads, kv, kv)] + [
                normal(batch, heads, tokens, size, form=form)]

        def forward(q, k, v, g):
            with torch.no_grad():
                return run(q, k, v)

        def run(q, k, v):
            with sdpa_kernel([kinds[kind]]):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=kv != heads)

        flops = 4 * batch * heads * tokens * tokens * size // (2 if causal else 1)
        nbytes = width(form) * batch * tokens * size * 2 * (heads + kv)
        name = f"attention {kind}{' causal' if causal else ''}{f' kv={kv}' if kv != heads else ''}"
        shape = (batch, heads, tokens, size)
        table.device(name + " forward", shape, form, nbytes, flops, make, forward)
        table.device(name + " forward+backward", shape, form, 3 * nbytes, 7 * flops // 2, make,
                     lambda q, k, v, g: torch.autograd.grad(run(q, k, v), (q, k, v), g))

    for size, heads in ((64, 16), (128, 16), (64, 12)):
        for tokens in (256, 512, 1024, 2048, 4096, 8192):
            for causal in (True, False):
                one("flash", max(1, 8192 // tokens), heads, tokens, size, causal)
    for batch in (1, 2, 4, 16):
        one("flash", batch, 16, 1024, 64, True)
    for tokens in (1024, 4096):
        one("cudnn", 8192 // tokens, 16, tokens, 64, True)
        one("cudnn", 8192 // tokens, 16, tokens, 128, True)
        one("flash", 8192 // tokens, 32, tokens, 64, True, kv=8)
        one("efficient", 8192 // tokens, 16, tokens, 64, True, "fp32")
    one("flash", 32, 16, 197, 64, False)


def elementwise(table):
    def one(op, shape, form, traffic, make, call, back=True):
        """traffic: bytes of forward per element; backward reads and writes about as much again and is timed with it."""
        count = 1
        for s in shape:
            count *= s
        with_grad = lambda *x: torch.autograd.grad(call(*x[:-1]), [t for t in x[:-1] if t.requires_grad], x[-1])

        def forward(*x):
            with torch.no_grad():
                return call(*x[:-1])

        table.device(op, shape, form, int(traffic * count), 0, make, forward)
        if back:
            table.device(op + " forward+backward", shape, form, int(2.5 * traffic * count), 0, make, with_grad)

    for rows in (1024, 8192, 32768):
        for n in (768, 1024, 4096):
            for form in ("bf16", "fp32"):
                w = width(form)
                x = lambda grad=True, rows=rows, n=n, form=form: normal(rows, n, form=form, grad=grad)
                g = lambda rows=rows, n=n, form=form: normal(rows, n, form=form)
                one("layer norm", (rows, n), form, 2 * w,
                    lambda: (x(), normal(n, form=form, grad=True), normal(n, form=form, grad=True), g()),
                    lambda a, s, b: F.layer_norm(a, (a.shape[-1],), s, b))
                one("rms norm", (rows, n), form, 2 * w, lambda: (x(), normal(n, form=form, grad=True), g()),
                    lambda a, s: F.rms_norm(a, (a.shape[-1],), s, 1e-5))
                one("gelu", (rows, n), form, 2 * w, lambda: (x(), g()), F.gelu)
                one("add", (rows, n), form, 3 * w, lambda: (x(False), x(False), g()), torch.add, False)
                one("copy", (rows, n), form, 2 * w, lambda: (x(False), torch.empty_like(g()), g()),
                    lambda a, b: b.copy_(a), False)
                one("dropout", (rows, n), form, 2 * w + 1, lambda: (x(), g()), lambda a: F.dropout(a, 0.1))
            one("add fp32 bf16", (rows, n), "bf16", 10,
                lambda: (normal(rows, n, form="fp32"), normal(rows, n), normal(1)), torch.add, False)
            one("cast fp32 to bf16", (rows, n), "bf16", 6, lambda: (normal(rows, n, form="fp32"), normal(1)),
                lambda a: a.bfloat16(), False)
            one("silu times", (rows, n), "bf16", 10, lambda: (normal(rows, n, grad=True), normal(rows, n, grad=True),
                                                             normal(rows, n)), lambda a, b: F.silu(a) * b)
    for tokens in (512, 1024, 2048):
        for form in ("bf16", "fp32"):
            one("softmax", (16, tokens, tokens), form, 2 * width(form),
                lambda: (normal(16, tokens, tokens, form=form, grad=True), normal(16, tokens, tokens, form=form)),
                lambda a: torch.softmax(a, -1))
    for rows, vocab in ((1024, 50304), (8192, 50304), (8192, 32000), (2048, 128256)):
        labels = torch.randint(0, vocab, (rows,), device=DEVICE)
        one("cross entropy", (rows, vocab), "fp32", 8, lambda: (normal(rows, vocab, form="fp32", grad=True),
                                                                torch.ones((), device=DEVICE)),
            lambda a: F.cross_entropy(a, labels))
        ids = torch.randint(0, vocab, (rows,), device=DEVICE)
        one("embedding", (rows, 1024), "fp32", 8, lambda: (normal(vocab, 1024, form="fp32", grad=True),
                                                           normal(rows, 1024, form="fp32")),
            lambda table_: F.embedding(ids, table_))


def updates(table):
    for form in ("fp32", "bf16"):
        for count, size in ((1, 1 << 20), (1, 1 << 24), (1, 1 << 27), (100, 1 << 20), (300, 1 << 20), (100, 1 << 14), (600, 1 << 14)):
            weights = [normal(size, form=form, grad=True) for _ in range(count)]
            for w in weights:
                w.grad = torch.randn_like(w)
            optimizer = torch.optim.AdamW(weights, lr=1e-4, fused=True, capturable=True)
            optimizer.step()
            table.device("adamw fused", (count, size), form, 7 * width(form) * count * size, 0, lambda: (),
                         lambda: optimizer.step())
            if form == "fp32" and size == 1 << 14:  # the device is quicker than the host
                table.host(f"adamw fused of {count}", optimizer.step)


def grouped(table):
    call = getattr(F, "grouped_mm", None) or torch._grouped_mm
    for n, k in ((3584, 1024), (1024, 3584), (14336, 4096)):
        for each in (16, 64, 128, 256, 512, 1024, 2048, 4096):
            ends = torch.arange(each, 8 * each + 1, each, device=DEVICE, dtype=torch.int32)
            m = 8 * each
            table.device("grouped product of 8", (m, n, k), "bf16", 2 * (m * k + 8 * n * k + m * n), 2 * m * n * k,
                         lambda: (normal(m, k), normal(8, k, n)), lambda a, b: call(a, b, offs=ends))


def uneven(table):
    """Grouped products of many narrow experts and of few wide ones. Of the skewed ones every second expert has three
    times the tokens of its neighbour."""
    call = getattr(F, "grouped_mm", None) or torch._grouped_mm
    for count, n, k in ((64, 1408, 2048), (64, 2048, 1408), (128, 768, 2048), (128, 2048, 768), (16, 8192, 5120),
                        (16, 5120, 8192), (8, 14336, 4096), (8, 4096, 14336), (8, 32768, 6144), (32, 2048, 7168)):
        for each in (16, 64, 128, 256, 512, 1024, 2048):
            m = count * each
            if m > 65536:
                continue
            for skewed in (False, True):
                loads = torch.tensor([each] * count if not skewed else [each // 2, each + each // 2] * (count // 2))
                ends = loads.cumsum(0).to(device=DEVICE, dtype=torch.int32)
                table.device(f"grouped product of {count}{' skewed' if skewed else ''}", (m, n, k), "bf16",
                             2 * (m * k + count * n * k + m * n), 2 * m * n * k,
                             lambda: (normal(m, k), normal(count, k, n)), lambda a, b: call(a, b, offs=ends))


def drawn(table, count):
    """Sizes are drawn evenly by their logarithm from 16 to 32,768. Two of three are multiples of 64, as layers are;
    the others are multiples of 8."""
    draw = random.Random(1)

    def size():
        raw = 2 ** draw.uniform(4, 15)
        step = 64 if draw.random() < 2 / 3 and raw >= 64 else 8
        return step * max(1, round(raw / step))

    made = 0
    while made < count:
        m, n, k = size(), size(), size()
        if m * n * k > 2**39 or m * n + n * k + m * k > 2**31:
            continue
        form = draw.choice(("bf16", "bf16", "bf16", "tf32", "fp32"))
        if form == "fp32" and m * n * k > 2**35:
            continue
        product(table, m, n, k, form, draw.choice(("product", "product nn", "product tn")))
        made += 1


def rest(table, count):
    """Rows of tokens are drawn evenly by their logarithm from 256 to 65,536, their widths from 64 to 32,768 in steps of
    8, or of 64 two times of three. A backward is timed with its forward."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    draw = random.Random(2)

    def size(least, most):
        raw = 2 ** draw.uniform(least, most)
        step = 64 if draw.random() < 2 / 3 and raw >= 64 else 8
        return step * max(1, round(raw / step))

    def both(op, shape, form, traffic, make, call):
        """traffic: bytes that forward must read and write; backward about one and a half times as many."""
        def forward(*x):
            with torch.no_grad():
                return call(*x[:-1])

        table.device(op, shape, form, traffic, 0, make, forward)
        table.device(op + " forward+backward", shape, form, traffic * 5 // 2, 0, make,
                     lambda *x: torch.autograd.grad(call(*x[:-1]), [t for t in x[:-1] if t.requires_grad], x[-1]))

    def attended(form):
        batch, heads, width_ = 2 ** draw.randint(0, 5), draw.choice((4, 8, 12, 16, 25, 32, 64)), draw.choice((64, 128))
        tokens, causal = size(7, 13.5), draw.random() < 0.6
        kv = heads // 4 if heads % 4 == 0 and draw.random() < 0.4 else heads
        if batch * heads * tokens * width_ > 2**28 or batch * heads * tokens * tokens * width_ > 2**41:
            return
        flops = 4 * batch * heads * tokens * tokens * width_ // (2 if causal else 1)
        traffic = 4 * batch * tokens * width_ * (heads + kv)
        name = f"attention flash{' causal' if causal else ''}{' shared' if kv != heads else ''}"
        shape = (batch, heads, tokens, width_)

        def make():
            return [normal(batch, h, tokens, width_, grad=True) for h in (heads, kv, kv)] + [normal(*shape)]

        def run(q, k, v):
            with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=kv != heads)

        def forward(q, k, v, g):
            with torch.no_grad():
                return run(q, k, v)

        table.device(name + " forward", shape, "bf16", traffic, flops, make, forward)
        table.device(name + " forward+backward", shape, "bf16", 3 * traffic, 7 * flops // 2, make,
                     lambda q, k, v, g: torch.autograd.grad(run(q, k, v), (q, k, v), g))

    def one(form):
        rows, n, w = size(8, 16), size(6, 15), width(form)
        if rows * n > 2**29:
            return
        x = lambda: normal(rows, n, form=form, grad=True)
        g = lambda: normal(rows, n, form=form)
        scale = lambda: normal(n, form=form, grad=True)
        op = draw.choice("layer rms gelu silu add copy dropout cast scale".split())
        if op == "layer":
            both("layer norm", (rows, n), form, 2 * w * rows * n, lambda: (x(), scale(), scale(), g()),
                 lambda a, s, b: F.layer_norm(a, (n,), s, b))
        elif op == "rms":
            both("rms norm", (rows, n), form, 2 * w * rows * n, lambda: (x(), scale(), g()),
                 lambda a, s: F.rms_norm(a, (n,), s, 1e-5))
        elif op == "gelu":
            both("gelu", (rows, n), form, 2 * w * rows * n, lambda: (x(), g()), F.gelu)
        elif op == "silu":
            both("silu times", (rows, n), form, 3 * w * rows * n, lambda: (x(), x(), g()), lambda a, b: F.silu(a) * b)
        elif op == "dropout":
            both("dropout", (rows, n), form, (2 * w + 1) * rows * n, lambda: (x(), g()), lambda a: F.dropout(a, 0.1))
        elif op == "add":
            table.device("add", (rows, n), form, 3 * w * rows * n, 0, lambda: (g(), g()), torch.add)
        elif op == "copy":
            table.device("copy", (rows, n), form, 2 * w * rows * n, 0, lambda: (g(), g()), lambda a, b: b.copy_(a))
        elif op == "scale":
            table.device("scale", (rows, n), form, 2 * w * rows * n, 0, lambda: (g(),), lambda a: a * 0.5)
        else:
            table.device("cast fp32 to bf16", (rows, n), "bf16", 6 * rows * n, 0, lambda: (normal(rows, n, form="fp32"),),
                         lambda a: a.bfloat16())

    def over_vocabulary(form):
        rows, vocab, n = size(8, 14), size(12, 17.2), size(7, 13)
        if rows * vocab > 2**29 or vocab * n > 2**30:
            return
        ids = torch.randint(0, vocab, (rows,), device=DEVICE)
        both("cross entropy", (rows, vocab), "fp32", 8 * rows * vocab,
             lambda: (normal(rows, vocab, form="fp32", grad=True), torch.ones((), device=DEVICE)),
             lambda a: F.cross_entropy(a, ids))
        both("embedding", (rows, vocab, n), form, 2 * width(form) * rows * n,
             lambda: (normal(vocab, n, form=form, grad=True), normal(rows, n, form=form)), lambda t: F.embedding(ids, t))

    for _ in range(count):
        draw.choice((attended, one, one, one, over_vocabulary))(draw.choice(("bf16", "bf16", "fp32")))


def hosts(table):
    x, w = normal(8, 64), normal(64, 64)
    parameter, g = normal(64, 64, grad=True), normal(8, 64)
    full, norm = normal(64, 64, form="fp32", grad=True), torch.nn.LayerNorm(64, device=DEVICE, dtype=torch.bfloat16)
    table.host("add in place", lambda: x.add_(1))
    table.host("add", lambda: x + x)
    table.host("product", lambda: x @ w)
    table.host("linear", lambda: F.linear(x, w))
    table.host("layer norm", lambda: norm(x))
    table.host("linear forward+backward", lambda: torch.autograd.grad(F.linear(x, parameter), parameter, g))
    table.host("gelu", lambda: F.gelu(x))

    def cast():
        with torch.autocast("cuda", torch.bfloat16):
            return F.linear(x, full)

    table.host("linear under autocast", cast)
    many = torch.ones(8, device=DEVICE)
    table.device("kernel that does nothing", (1,), "fp32", 64, 0, lambda: (), lambda: many.add_(1))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        many.add_(1)
    table.host("graph of one kernel", graph.replay)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="kernels.csv")
    parser.add_argument("--seconds", type=float, default=110, help="begins no kernel after so long")
    parser.add_argument("--drawn", type=int, default=0)
    parser.add_argument("--rest", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(1)
    table = Table(options.out, options.seconds)
    parts = (hosts, attention, grouped, updates, products, elementwise)
    if options.drawn:
        parts = (uneven, functools.partial(drawn, count=options.drawn))
    if options.rest:
        parts = (functools.partial(rest, count=options.rest),)
    for part in parts:
        began = time.perf_counter()
        try:
            part(table)
        except Exception as error:  # what this release does not have leaves the other parts
            print(f"{getattr(part, '__name__', 'drawn')}: {type(error).__name__}: {str(error).splitlines()[0][:200]}", flush=True)
        torch.cuda.empty_cache()
        print(f"{getattr(part, '__name__', 'drawn')}: {time.perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
