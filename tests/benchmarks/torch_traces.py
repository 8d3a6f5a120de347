"""Trains a small network in PyTorch on one core a process, and writes what its profiler recorded.

    torch_traces.py describe NET WIDTH MODEL      writes the network for `trainyard --model`
    torch_traces.py time NET BATCH WIDTH RANKS    prints the median step in ms, without a profiler
    torch_traces.py record NET BATCH WIDTH RANKS TRACE...   a trace of each rank

NET is mlp, convnet or decoder; BATCH is that of one rank. Ranks are processes that average their
gradients over gloo."""
import json
import os
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, schedule

VOCABULARY, LAYERS, HEADS, TOKENS = 512, 2, 4, 64


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.mask = torch.triu(torch.ones(TOKENS, TOKENS, dtype=torch.bool), 1)  # no buffer: gloo sends no bools

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q * (width // HEADS) ** -0.5) @ k.transpose(-1, -2)
        seen = scores.masked_fill(self.mask, float("-inf")).softmax(-1) @ v
        x = x + self.out(seen.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.table, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(TOKENS, width)
        # A table of unit variance makes gradients so small that a processor slows down on them.
        nn.init.normal_(self.table.weight, std=0.02)
        self.layers = nn.ModuleList(Layer(width) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.table(ids) + self.places(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.norm(x), self.table.weight).view(-1, VOCABULARY)


def network(net, width, batch):
    """The module, its input and its labels."""
    if net == "mlp":
        sizes = [784, width, width, width]
        hidden = [part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b), nn.ReLU())]
        return nn.Sequential(*hidden, nn.Linear(width, 10)), torch.randn(batch, 784), torch.randint(0, 10, (batch,))
    if net == "convnet":
        def conv(a, b):
            return nn.Conv2d(a, b, 3, padding=1), nn.ReLU()
        module = nn.Sequential(*conv(3, width), *conv(width, width), nn.MaxPool2d(2), *conv(width, 2 * width),
                               *conv(2 * width, 2 * width), nn.MaxPool2d(2), nn.Flatten(),
                               nn.Linear(128 * width, 10))
        return module, torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))
    ids = torch.randint(0, VOCABULARY, (batch, TOKENS))
    return Decoder(width), ids, torch.randint(0, VOCABULARY, (batch * TOKENS,))


def describe(net, width, path):
    if net == "decoder":
        with open(path, "w") as f:
            json.dump({"model_type": "gpt2", "vocab_size": VOCABULARY, "n_positions": TOKENS, "n_embd": width,
                       "n_layer": LAYERS, "n_head": HEADS, "activation_function": "gelu", "resid_pdrop": 0,
                       "embd_pdrop": 0, "attn_pdrop": 0, "tie_word_embeddings": True}, f)
        return
    module, x, _ = network(net, width, 1)
    batch = {0: "batch"}
    torch.onnx.export(module, x, path, input_names=["x"], output_names=["y"], dynamic_axes={"x": batch, "y": batch})


def train(rank, net, batch, width, ranks, traces):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module, x, y = network(net, width, batch)
    if ranks > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
        torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
        module = nn.parallel.DistributedDataParallel(module)
    optimizer = torch.optim.AdamW(module.parameters())

    def step():
        optimizer.zero_grad()
        F.cross_entropy(module(x), y).backward()
        optimizer.step()

    for _ in range(3):
        step()
    if traces:
        def write(p):
            p.export_chrome_trace(traces[rank])
        with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=12),
                     on_trace_ready=write) as p:
            for _ in range(14):
                step()
                p.step()
        return
    took = []
    for _ in range(15):
        begun = time.perf_counter()
        step()
        took.append(time.perf_counter() - begun)
    if rank == 0:
        print(1e3 * statistics.median(took))


def main():
    what, net, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    if what == "describe":
        return describe(net, int(words[0]), words[1])
    batch, width, ranks = (int(word) for word in words[:3])
    arguments = (net, batch, width, ranks, words[3:])
    if ranks == 1:
        return train(0, *arguments)
    return torch.multiprocessing.spawn(train, arguments, nprocs=ranks)


if __name__ == "__main__":
    main()
