"""The other side of against_torch: the same networks in torch, and the table."""
import math
import subprocess
import sys
import time

try:
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
except ImportError:
    torch = None

NAMES = ["mlp-sgd", "mlp-adam", "decoder-256", "decoder-128", "decoder-512", "convnet"]


def networks():
    class Layer(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x, mask):
            batch, tokens, width = x.shape
            size = width // self.heads
            qkv = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, size)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            scores = torch.matmul(q * (1 / math.sqrt(size)), k.transpose(-1, -2)) + mask
            mixed = torch.matmul(torch.softmax(scores, -1), v)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Decoder(nn.Module):
        def __init__(self, layers, width, heads, tokens, vocabulary=512):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, width)
            self.positions = nn.Parameter(torch.randn(tokens, width) * 0.02)
            self.layers = nn.ModuleList([Layer(width, heads) for _ in range(layers)])
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, vocabulary, bias=False)
            self.register_buffer("mask", torch.full((tokens, tokens), -math.inf).triu(1))

        def forward(self, ids):
            x = self.embedding(ids) + self.positions
            for layer in self.layers:
                x = layer(x, self.mask)
            return self.head(self.norm(x))

    def mlp():
        return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                             nn.Linear(512, 10))

    def convnet():
        layers, channels = [], 3
        for out in (32, 64, 128):
            layers += [nn.Conv2d(channels, out, 3, padding=1, bias=False), nn.BatchNorm2d(out),
                       nn.ReLU(), nn.MaxPool2d(2)]
            channels = out
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))

    return mlp, convnet, Decoder


def step_of(name):
    mlp, convnet, Decoder = networks()
    if name.startswith("mlp"):
        network, x, y = mlp(), torch.randn(64, 784), torch.randint(0, 10, (64,))
    elif name == "convnet":
        network, x, y = convnet(), torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))
    else:
        layers, width, heads, batch, tokens = {"decoder-256": (3, 256, 4, 8, 128),
                                               "decoder-128": (3, 128, 4, 8, 64),
                                               "decoder-512": (4, 512, 8, 4, 128)}[name]
        network = Decoder(layers, width, heads, tokens)
        x = torch.randint(0, 512, (batch, tokens))
        y = torch.randint(0, 512, (batch * tokens,))
    parameters = network.parameters()
    if name.startswith("decoder"):
        optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    elif name == "mlp-adam":
        optimizer = torch.optim.Adam(parameters, lr=1e-3)
    else:
        optimizer = torch.optim.SGD(parameters, lr=1e-3, momentum=0.9)

    def step():
        optimizer.zero_grad(set_to_none=True)
        out = network(x)
        F.cross_entropy(out.view(-1, out.shape[-1]), y).backward()
        optimizer.step()

    return step


def quickest(step, seconds):
    start, best, steps = time.thread_time(), math.inf, 0
    while steps < 5 or time.thread_time() - start < seconds:
        before = time.thread_time()
        step()
        if steps >= 2:
            best = min(best, time.thread_time() - before)
        steps += 1
    return best * 1e3


def main():
    program, rounds, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    names = sys.argv[4:] or NAMES
    for name in names:
        if name not in NAMES:
            sys.exit(f'no network is called "{name}"; there are {" ".join(NAMES)}')
    ours, theirs, steps = {}, {}, {}
    if torch is None:
        print("There is no torch to compare with (Debian: python3-torch); these are our own steps.")
    else:
        torch.set_num_threads(1)
        torch.manual_seed(1)
        a = torch.rand(512, 512)
        speed = 2 * 512**3 / (quickest(lambda: a.mm(a), 0.3) * 1e-3) * 1e-9
        print(f"torch {torch.__version__} multiplies at {speed:.0f} GFLOP/s in one thread")
        if speed < 40:
            print("  This is Debian's reference BLAS; install libopenblas0-pthread to compare with what torch can do.")
        steps = {name: step_of(name) for name in names}
    for _ in range(rounds):
        for name in names:
            out = subprocess.run([program, "--seconds", str(seconds), name], check=True,
                                 capture_output=True, text=True).stdout
            ours[name] = min(ours.get(name, math.inf), float(out.split()[1]))
            if name in steps:
                theirs[name] = min(theirs.get(name, math.inf), quickest(steps[name], seconds))
    print(f"{'step':14} {'ours ms':>10} {'torch ms':>10} {'ratio':>7}")
    for name in names:
        line = f"{name:14} {ours[name]:10.3f}"
        if name in theirs:
            line += f" {theirs[name]:10.3f} {theirs[name] / ours[name]:7.2f}"
        print(line)
    if theirs:
        ratios = [theirs[name] / ours[name] for name in names]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{'geometric mean':36} {mean:7.2f}   lowest {min(ratios):.2f}")


if __name__ == "__main__":
    main()
