"""Measures training steps of many plans in PyTorch on one device, for `trainyard validate FILE`.

    torch_steps.py --out steps.csv             every plan, each a row of its step and one of its memory
    torch_steps.py --only gpt2-124m --out f    the plans whose line contains these words, or one of several: a,b
    torch_steps.py --device cpu --out f        a dry run: the same plans of tiny models
    torch_steps.py --count                     parameters of every model
    torch_steps.py --trace DIR                 Kineto traces and a memory snapshot

A plan that runs out of memory is a row with the metric "over_gb": it needs more than the device has."""
import argparse
import contextlib
import csv
import gc
import inspect
import os
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

# The columns of assets/validation/README.md that say what a model is.
DECODERS = {
    "gpt2-124m": dict(family="GPT", layers=12, hidden=768, heads=12, vocab=50304),
    "gpt2-odd": dict(family="GPT", layers=12, hidden=768, heads=12, vocab=50257),
    "gpt2-350m": dict(family="GPT", layers=24, hidden=1024, heads=16, vocab=50304),
    "gpt2-deep": dict(family="GPT", layers=48, hidden=768, heads=12, vocab=50304),
    "gpt2-wide": dict(family="GPT", layers=4, hidden=4096, heads=32, vocab=50304),
    "llama-1b": dict(family="Llama-3.2-1B", layers=16, hidden=2048, heads=32, kv_heads=8, ffn=8192,
                     vocab=128256),
    "llama-3b": dict(family="Llama-3.2-3B", layers=28, hidden=3072, heads=24, kv_heads=8, ffn=8192,
                     vocab=128256),
    "gpt2-xl": dict(family="GPT", layers=48, hidden=1600, heads=25, vocab=50304),
    "llama-tiny": dict(family="Llama", layers=22, hidden=2048, heads=32, kv_heads=4, ffn=5632,
                       vocab=32000, tied=False),
    "llama-8b": dict(family="Llama-3.1-8B", layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336,
                     vocab=128256, tied=False),
    "moe-fine": dict(family="Mixtral", layers=6, hidden=2048, heads=16, kv_heads=4, ffn=768,
                     vocab=32000, tied=False, experts=64, top_k=8),
    "moe-coarse": dict(family="Mixtral", layers=2, hidden=4096, heads=32, kv_heads=8, ffn=14336,
                       vocab=32000, tied=False, experts=8, top_k=2),
    "moe": dict(family="Mixtral", layers=12, hidden=1024, heads=16, kv_heads=4, ffn=3584,
                vocab=32000, tied=False, experts=8, top_k=2),
}
OTHERS = {
    "bert-large": dict(family="bert-large", layers=24, hidden=1024, heads=16, ffn=4096,
                       vocab=30528),
    "vit-l": dict(family="trainyard:vit-l16", layers=24, hidden=1024, heads=16, ffn=4096),
    "resnet-50": dict(family="trainyard:resnet-50"),
    "lstm": dict(family="trainyard:rnn:vocab=32000,hidden=1024,layers=4,seq=256", layers=4,
                 hidden=1024, vocab=32000),
    "seq2seq": dict(family="trainyard:seq2seq:hidden=1024,heads=16,ffn=4096,vocab=32000,seq=512",
                    layers=6, hidden=1024, heads=16, ffn=4096, vocab=32000),
}
MODELS = {**DECODERS, **OTHERS}

# model, micro-batch, sequence, precision, kernels, and words: full (recomputation), accum=N, cudnn or unfused
# attention, loop (experts one after another), lora=RANK (of every linear layer but the head), frozen=N (the table and
# the first N layers are not trained), documents=N (each sequence is packed of documents of N tokens).  The most telling plans come first, because time may run out.
PLANS = """
gpt2-124m 16 1024 bf16 eager
gpt2-350m 8 1024 bf16 eager
llama-1b 2 2048 bf16 eager
gpt2-350m 8 1024 bf16 compiled
llama-tiny 4 2048 bf16 eager
llama-tiny 4 2048 bf16 compiled
bert-large 16 512 bf16 eager
vit-l 32 197 bf16 eager
resnet-50 128 1 bf16 eager
lstm 64 256 bf16 eager
seq2seq 16 512 bf16 eager
moe 8 1024 bf16 eager
gpt2-deep 8 1024 bf16 eager
gpt2-wide 8 1024 bf16 eager
gpt2-350m 8 1024 pure eager
gpt2-350m 8 1024 fp32 eager
gpt2-350m 8 1024 tf32 eager
gpt2-350m 8 1024 bf16 eager full
gpt2-350m 8 1024 bf16 compiled full
gpt2-350m 1 1024 bf16 eager
gpt2-350m 2 1024 bf16 eager
gpt2-350m 4 1024 bf16 eager
gpt2-350m 16 1024 bf16 eager
gpt2-350m 32 1024 bf16 eager
gpt2-350m 1 1024 bf16 eager accum=8
gpt2-350m 8 1024 bf16 eager accum=4
gpt2-350m 1 8192 bf16 eager
gpt2-350m 2 4096 bf16 eager
gpt2-350m 16 512 bf16 eager
gpt2-350m 8 1024 bf16 eager cudnn
gpt2-350m 8 1024 bf16 eager unfused
gpt2-124m 1 512 bf16 eager
gpt2-124m 1 512 bf16 compiled
gpt2-124m 4 1024 bf16 eager
gpt2-124m 32 1024 bf16 eager
gpt2-124m 16 1024 bf16 compiled
gpt2-124m 16 1024 pure compiled
gpt2-124m 16 1024 fp32 eager
gpt2-124m 16 1024 tf32 eager
gpt2-124m 16 1024 bf16 eager unfused
gpt2-odd 16 1024 bf16 eager
llama-1b 1 8192 bf16 eager
llama-1b 1 8192 bf16 eager full
llama-1b 4 2048 bf16 eager full
llama-1b 2 2048 pure eager
llama-1b 2 2048 bf16 compiled
llama-1b 1 2048 bf16 eager accum=4
llama-1b 8 2048 pure eager full
llama-tiny 4 2048 bf16 eager full
llama-tiny 1 8192 bf16 eager full
llama-tiny 4 2048 pure compiled
llama-tiny 4 2048 bf16 eager cudnn
llama-tiny 2 2048 tf32 eager
gpt2-deep 1 1024 bf16 eager
gpt2-deep 8 1024 bf16 compiled
gpt2-deep 16 1024 bf16 eager full
gpt2-wide 1 1024 bf16 eager
gpt2-wide 16 1024 bf16 eager
gpt2-wide 8 1024 bf16 compiled
gpt2-wide 8 1024 pure eager
bert-large 64 128 bf16 eager
bert-large 16 512 bf16 compiled
bert-large 16 512 fp32 eager
bert-large 32 512 bf16 eager full
vit-l 128 197 bf16 eager
vit-l 64 197 bf16 eager full
vit-l 32 197 bf16 compiled
vit-l 32 197 tf32 eager
resnet-50 32 1 bf16 eager
resnet-50 256 1 bf16 eager
resnet-50 128 1 tf32 eager
lstm 16 256 bf16 eager
lstm 64 256 fp32 eager
seq2seq 32 512 bf16 eager
seq2seq 16 512 tf32 eager
moe 8 1024 bf16 eager loop
moe 2 1024 bf16 eager
moe 16 1024 bf16 eager
moe 8 1024 bf16 eager full
gpt2-350m 64 1024 bf16 eager
llama-1b 16 2048 bf16 eager
llama-tiny 16 2048 bf16 eager
gpt2-wide 32 1024 fp32 eager
gpt2-deep 64 1024 bf16 eager
gpt2-xl 4 1024 bf16 eager
gpt2-xl 8 1024 bf16 eager full
gpt2-xl 4 1024 bf16 compiled
gpt2-xl 4 1024 pure eager
llama-3b 1 2048 bf16 eager full
llama-3b 4 2048 pure eager full
llama-3b 2 4096 pure compiled full
bert-large 8 512 pure eager
llama-1b 4 2048 bf16 compiled full
seq2seq 16 512 bf16 compiled
gpt2-350m 4 2048 bf16 compiled
gpt2-350m 8 1024 pure compiled
gpt2-350m 2 1024 bf16 compiled
gpt2-124m 8 1024 bf16 eager
gpt2-124m 64 512 bf16 eager
moe 8 1024 pure eager
vit-l 32 197 pure eager
bert-large 4 512 bf16 eager
llama-1b 2 2048 pure eager lora=16
llama-3b 2 2048 pure eager lora=16
llama-8b 1 2048 pure eager lora=16
llama-8b 4 2048 pure eager full lora=16
gpt2-350m 8 1024 bf16 eager lora=8
gpt2-350m 2 4096 bf16 eager documents=512
llama-1b 1 8192 bf16 eager documents=1024
moe-fine 4 2048 pure eager
moe-coarse 4 2048 pure eager
llama-1b 8 2048 pure eager full lora=16
llama-1b 2 2048 bf16 eager lora=16
llama-3b 4 2048 pure eager full lora=16
llama-3b 2 2048 pure compiled lora=16
gpt2-xl 4 1024 pure eager lora=16
gpt2-xl 8 1024 pure eager full lora=64
gpt2-350m 8 1024 pure compiled lora=8
llama-tiny 4 2048 pure eager lora=64
llama-tiny 1 2048 pure eager lora=8
llama-8b 2 2048 pure eager lora=64
gpt2-350m 8 1024 bf16 eager frozen=12
gpt2-350m 8 1024 pure eager frozen=23
llama-1b 2 2048 bf16 eager frozen=8
llama-3b 2 2048 pure eager frozen=24
gpt2-350m 1 8192 bf16 eager documents=8192
gpt2-350m 1 8192 bf16 eager documents=1024
gpt2-350m 1 8192 bf16 eager documents=128
llama-1b 1 8192 pure eager documents=256
llama-1b 1 16384 pure eager full documents=2048
llama-1b 1 16384 pure eager full documents=16384
moe-fine 1 2048 pure eager
moe-fine 8 2048 pure eager full
moe-fine 2 2048 bf16 eager
moe-fine 4 2048 pure eager loop
moe-fine 4 2048 pure compiled
moe-coarse 1 2048 pure eager
moe-coarse 8 2048 pure eager full
moe-coarse 2 2048 bf16 eager
moe-coarse 16 2048 pure eager
"""


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, 1e-5)


def rotate(x, cos, sin):
    first, second = x.chunk(2, -1)
    return (x * cos + torch.cat((-second, first), -1) * sin).to(x.dtype)


try:
    from torch.nn.attention.varlen import varlen_attn
    TAKEN = inspect.signature(varlen_attn).parameters
    CAUSAL = dict(is_causal=True) if "is_causal" in TAKEN else dict(window_size=(-1, 0))
except ImportError:  # releases before 2.10
    varlen_attn = None


class Attention(nn.Module):
    """kind: flash, cudnn, unfused, or packed (documents of `longest` tokens that see nothing of each other).  Keys and values come from `memory` where there is one."""

    def __init__(self, width, heads, kv_heads, bias, kind, causal, fused, rotary=False, dropout=0.0):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, width // heads
        self.kind, self.causal, self.rotary, self.dropout = kind, causal, rotary, dropout
        kv = kv_heads * self.size
        self.qkv = nn.Linear(width, width + 2 * kv, bias) if fused else None
        if not fused:
            self.q, self.k, self.v = (nn.Linear(width, n, bias) for n in (width, kv, kv))
        self.out = nn.Linear(width, width, bias)

    def forward(self, x, memory=None, table=None):
        batch, tokens, width = x.shape
        source = x if memory is None else memory
        if self.qkv is not None:
            kv = self.kv_heads * self.size
            q, k, v = self.qkv(x).split((width, kv, kv), -1)
        else:
            q, k, v = self.q(x), self.k(source), self.v(source)
        q = q.view(batch, tokens, self.heads, self.size).transpose(1, 2)
        k = k.view(batch, source.shape[1], self.kv_heads, self.size).transpose(1, 2)
        v = v.view(batch, source.shape[1], self.kv_heads, self.size).transpose(1, 2)
        if self.rotary:
            q, k = rotate(q, *table), rotate(k, *table)
        if self.kind == "packed":
            flat = lambda t: t.transpose(1, 2).reshape(batch * tokens, -1, self.size)
            more = dict(CAUSAL)
            if self.heads != self.kv_heads and "enable_gqa" in TAKEN:
                more["enable_gqa"] = True
            elif self.heads != self.kv_heads:  # this release's kernel wants a key head for each query head
                k, v = (t.repeat_interleave(self.heads // self.kv_heads, 1) for t in (k, v))
            mixed = varlen_attn(flat(q), flat(k), flat(v), self.ends, self.ends, self.longest, self.longest,
                                **more).view(batch, tokens, self.heads, -1).transpose(1, 2)
        elif self.kind == "unfused":
            scores = q @ k.transpose(-1, -2) * self.size**-0.5
            hidden = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).triu(1)
            mixed = torch.softmax(scores.masked_fill(hidden, -torch.inf), -1).to(v.dtype) @ v
        else:
            more = dict(enable_gqa=True) if self.heads != self.kv_heads else {}
            mixed = F.scaled_dot_product_attention(
                q, k, v, is_causal=self.causal and memory is None,
                dropout_p=self.dropout if self.training else 0.0, **more)
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))


class Adapted(nn.Module):
    """A linear layer that is not trained, beside two thin ones that are (Hu et al. 2021)."""

    def __init__(self, base, rank):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x)) * 2


def adapted(model, rank):
    model.requires_grad_(False)
    for layer in model.stack.layers:
        for name, part in list(layer.named_modules()):
            if isinstance(part, nn.Linear):
                owner, _, last = name.rpartition(".")
                setattr(layer.get_submodule(owner), last, Adapted(part, rank))


class Mlp(nn.Module):
    def __init__(self, width, inner, bias, gated, act):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias) if gated else None
        self.up, self.down, self.act = nn.Linear(width, inner, bias), nn.Linear(inner, width, bias), act

    def forward(self, x):
        up = self.up(x)
        return self.down(self.act(up) if self.gate is None else self.act(self.gate(x)) * up)


class Experts(nn.Module):
    """Each token meets its top_k experts; grouped products, or one expert after another."""

    def __init__(self, width, inner, count, top_k, loop):
        super().__init__()
        self.top_k, self.loop = top_k, loop
        self.router = nn.Linear(width, count, bias=False)
        self.gate, self.up = (nn.Parameter(torch.randn(count, width, inner) * 0.02) for _ in range(2))
        self.down = nn.Parameter(torch.randn(count, inner, width) * 0.02)

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        share, chosen = self.router(rows).float().softmax(-1).topk(self.top_k, -1)
        share = share / share.sum(-1, keepdim=True)
        kind = torch.bfloat16 if torch.is_autocast_enabled() else rows.dtype
        gate, up, down = (w.to(kind) for w in (self.gate, self.up, self.down))
        rows = rows.to(kind)
        out = torch.zeros_like(rows)
        if self.loop:
            for e in range(gate.shape[0]):
                token, nth = (chosen == e).nonzero(as_tuple=True)
                mine = rows[token]
                made = (F.silu(mine @ gate[e]) * (mine @ up[e])) @ down[e]
                out.index_add_(0, token, made * share[token, nth, None].to(kind))
            return out.view(x.shape)
        product = getattr(F, "grouped_mm", None) or torch._grouped_mm
        order = chosen.flatten().argsort()
        token = order // self.top_k
        ends = torch.bincount(chosen.flatten(), minlength=gate.shape[0]).cumsum(0).to(torch.int32)
        mine = rows[token]
        inner = F.silu(product(mine, gate, offs=ends)) * product(mine, up, offs=ends)
        made = product(inner, down, offs=ends) * share.flatten()[order, None].to(kind)
        return out.index_add(0, token, made).view(x.shape)


class PreNorm(nn.Module):
    def __init__(self, norm, attention, mlp, width):
        super().__init__()
        self.norm1, self.attention, self.norm2, self.mlp = norm(width), attention, norm(width), mlp

    def forward(self, x, table=None):
        x = x + self.attention(self.norm1(x), table=table)
        return x + self.mlp(self.norm2(x))


class PostNorm(nn.Module):
    """The layer of BERT and, with a second attention, of Vaswani et al.'s decoder."""

    def __init__(self, attention, mlp, width, dropout, cross=None):
        super().__init__()
        self.attention, self.mlp, self.cross, self.rate = attention, mlp, cross, dropout
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.norm3 = nn.LayerNorm(width) if cross is not None else None

    def forward(self, x, memory=None):
        x = self.norm1(x + F.dropout(self.attention(x), self.rate))
        if self.cross is not None:
            x = self.norm3(x + F.dropout(self.cross(x, memory), self.rate))
        return self.norm2(x + F.dropout(self.mlp(x), self.rate))


class Stack(nn.Module):
    """Layers, each run again in backward where `again` says so."""

    def __init__(self, layers, again):
        super().__init__()
        self.layers, self.again = nn.ModuleList(layers), again

    def forward(self, x, *more):
        for layer in self.layers:
            x = checkpoint(layer, x, *more, use_reentrant=False) if self.again else layer(x, *more)
        return x


def loss_of(logits, labels):
    return F.cross_entropy(logits.float().view(-1, logits.shape[-1]), labels.flatten())


class Head(nn.Module):
    def __init__(self, norm, width, vocab):
        super().__init__()
        self.norm, self.out = norm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, x, labels):
        return loss_of(self.out(self.norm(x)), labels)


class Decoder(nn.Module):
    def __init__(self, m, p):
        super().__init__()
        llama = m["family"] != "GPT"
        width, heads, kv = m["hidden"], m["heads"], m.get("kv_heads", m["heads"])
        norm = RmsNorm if llama else nn.LayerNorm
        self.tokens = nn.Embedding(m["vocab"], width)
        self.places = None if llama else nn.Embedding(p.seq, width)
        if llama:
            size = width // heads
            angle = torch.outer(torch.arange(p.seq), 10000 ** (-torch.arange(0, size, 2) / size))
            self.register_buffer("cos", torch.cat((angle, angle), -1).cos())
            self.register_buffer("sin", torch.cat((angle, angle), -1).sin())

        def layer():
            attention = Attention(width, heads, kv, not llama, p.attention, True, not llama, llama)
            if "experts" in m:
                mlp = Experts(width, m["ffn"], m["experts"], m["top_k"], p.loop)
            else:
                mlp = Mlp(width, m.get("ffn", 4 * width), not llama, llama, F.silu if llama else F.gelu)
            return PreNorm(norm, attention, mlp, width)

        self.stack = Stack([layer() for _ in range(m["layers"])], p.full)
        self.head = Head(norm, width, m["vocab"])
        if m.get("tied", True):
            self.head.out.weight = self.tokens.weight

    def forward(self, ids, labels):
        x = self.tokens(ids)
        table = None
        if self.places is not None:
            x = x + self.places.weight
        else:
            kind = torch.bfloat16 if torch.is_autocast_enabled() else x.dtype
            table = (self.cos.to(kind), self.sin.to(kind))
        return self.head(self.stack(x, table), labels)

    @staticmethod
    def batch(m, p):
        return [torch.randint(0, m["vocab"], (p.micro, p.seq)) for _ in range(2)]


class Bert(nn.Module):
    """Predicts 15 % of the positions (Devlin et al. 2019), with the head on these alone."""

    def __init__(self, m, p):
        super().__init__()
        width, rate = m["hidden"], 0.1
        self.tokens, self.places = nn.Embedding(m["vocab"], width), nn.Embedding(p.seq, width)
        self.types, self.norm = nn.Embedding(2, width), nn.LayerNorm(width)
        self.rate = rate
        self.stack = Stack([PostNorm(
            Attention(width, m["heads"], m["heads"], True, p.attention, False, False, dropout=rate),
            Mlp(width, m["ffn"], True, False, F.gelu), width, rate) for _ in range(m["layers"])], p.full)
        self.transform, self.head_norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.out = nn.Linear(width, m["vocab"])
        self.out.weight = self.tokens.weight

    def forward(self, ids, kinds, masked, labels):
        x = self.norm(self.tokens(ids) + self.places.weight + self.types(kinds))
        x = self.stack(F.dropout(x, self.rate))
        x = x.flatten(0, 1)[masked]
        return loss_of(self.out(self.head_norm(F.gelu(self.transform(x)))), labels)

    @staticmethod
    def batch(m, p):
        ids = torch.randint(0, m["vocab"], (p.micro, p.seq))
        masked = torch.randperm(ids.numel())[:max(1, ids.numel() * 15 // 100)]
        return [ids, torch.zeros_like(ids), masked, ids.flatten()[masked]]


class Vit(nn.Module):
    def __init__(self, m, p):
        super().__init__()
        width = m["hidden"]
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.first, self.places = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(197, width))
        self.stack = Stack([PreNorm(
            nn.LayerNorm, Attention(width, m["heads"], m["heads"], True, p.attention, False, False),
            Mlp(width, m["ffn"], True, False, F.gelu), width) for _ in range(m["layers"])], p.full)
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, images, labels):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.first.expand(x.shape[0], -1, -1).to(x.dtype), x), 1) + self.places
        return loss_of(self.out(self.norm(self.stack(x))[:, 0]), labels)

    @staticmethod
    def batch(m, p):
        return [torch.randn(p.micro, 3, 224, 224), torch.randint(0, 1000, (p.micro,))]


class Bottleneck(nn.Module):
    def __init__(self, into, width, stride):
        super().__init__()
        convolution = lambda a, b, size, step=1: nn.Sequential(
            nn.Conv2d(a, b, size, step, size // 2, bias=False), nn.BatchNorm2d(b))
        self.one, self.two = convolution(into, width, 1), convolution(width, width, 3, stride)
        self.three = convolution(width, 4 * width, 1)
        same = into == 4 * width and stride == 1
        self.skip = nn.Identity() if same else convolution(into, 4 * width, 1, stride)

    def forward(self, x):
        y = F.relu(self.one(x), inplace=True)
        y = self.three(F.relu(self.two(y), inplace=True))
        return F.relu(y + self.skip(x), inplace=True)


class ResNet(nn.Module):
    def __init__(self, m, p):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64),
                                  nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        blocks, into = [], 64
        for stage, count in enumerate((3, 4, 6, 3)):
            for i in range(count):
                blocks.append(Bottleneck(into, 64 << stage, 2 if stage > 0 and i == 0 else 1))
                into = 256 << stage
        self.stack, self.out = Stack(blocks, p.full), nn.Linear(2048, 1000)
        self.to(memory_format=torch.channels_last)

    def forward(self, images, labels):
        x = self.stack(self.stem(images.to(memory_format=torch.channels_last)))
        return loss_of(self.out(x.mean((2, 3))), labels)

    batch = Vit.batch


class Lstm(nn.Module):
    def __init__(self, m, p):
        super().__init__()
        self.tokens = nn.Embedding(m["vocab"], m["hidden"])
        self.lstm = nn.LSTM(m["hidden"], m["hidden"], m["layers"], batch_first=True)
        self.out = nn.Linear(m["hidden"], m["vocab"])
        for name, bias in self.lstm.named_parameters():
            if name.startswith("bias_hh"):  # cuDNN's second bias adds to the first
                bias.requires_grad_(False)

    def forward(self, ids, labels):
        return loss_of(self.out(self.lstm(self.tokens(ids))[0]), labels)

    batch = Decoder.batch


class Seq2Seq(nn.Module):
    def __init__(self, m, p):
        super().__init__()
        width, rate = m["hidden"], 0.1
        attention = lambda causal: Attention(width, m["heads"], m["heads"], True, p.attention, causal, False,
                                             dropout=rate)
        mlp = lambda: Mlp(width, m["ffn"], True, False, F.relu)
        self.tokens, self.rate = nn.Embedding(m["vocab"], width), rate
        self.register_buffer("places", torch.randn(p.seq, width))
        self.encoder = Stack([PostNorm(attention(False), mlp(), width, rate) for _ in range(m["layers"])],
                             p.full)
        self.decoder = Stack([PostNorm(attention(True), mlp(), width, rate, attention(False))
                              for _ in range(m["layers"])], p.full)
        self.out = nn.Linear(width, m["vocab"], bias=False)
        self.out.weight = self.tokens.weight

    def forward(self, ids, labels):
        embed = lambda t: F.dropout(self.tokens(t) * t.shape[-1]**0.5 + self.places, self.rate)
        memory = self.encoder(embed(ids))
        return loss_of(self.out(self.decoder(embed(labels), memory)), labels)

    batch = Decoder.batch


CLASSES = {"bert-large": Bert, "vit-l": Vit, "resnet-50": ResNet, "lstm": Lstm, "seq2seq": Seq2Seq}


class Plan:
    def __init__(self, line):
        self.line = line
        self.model, micro, seq, self.precision, self.kernels, *words = line.split()
        self.micro, self.seq = int(micro), int(seq)
        self.full, self.loop = "full" in words, "loop" in words
        self.attention = next((w for w in words if w in ("cudnn", "unfused")), "flash")
        number = lambda word: next((int(w.partition("=")[2]) for w in words if w.startswith(word + "=")), 0)
        self.lora, self.frozen, self.documents = number("lora"), number("frozen"), number("documents")
        if self.documents:
            self.attention = "packed"
        self.accum = next((int(w[6:]) for w in words if w.startswith("accum=")), 1)

    def shape(self, tiny):
        m = dict(MODELS[self.model])
        if tiny:
            self.micro, self.seq = min(self.micro, 2), min(self.seq, 32) if self.model != "vit-l" else self.seq
            small = dict(layers=2, hidden=64, heads=4, kv_heads=2, ffn=128, vocab=256, experts=4, top_k=2)
            m.update({k: v for k, v in small.items() if k in m})
            m["tiny"] = True
        return m


def build(m, p):
    return CLASSES.get(p.model, Decoder)(m, p)


def trained(model):
    return sum(w.numel() for w in model.parameters() if w.requires_grad)


class Step:
    """One plan, ready to run."""

    def __init__(self, m, p, device):
        self.p, self.device, cuda = p, device, device == "cuda"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = p.precision == "tf32"
        torch.manual_seed(1)
        with torch.device(device) if cuda else contextlib.nullcontext():
            self.model = build(m, p)
            self.parameters = trained(self.model)  # before some are frozen: a model's size does not change by that
            if p.documents:
                ends = torch.arange(0, p.micro * p.seq + 1, p.documents, dtype=torch.int32)
                for part in self.model.modules():
                    if isinstance(part, Attention):
                        part.ends, part.longest = ends, p.documents
            if p.lora:
                adapted(self.model, p.lora)
            if p.frozen:
                for part in (self.model.tokens, self.model.places, *self.model.stack.layers[:p.frozen]):
                    if part is not None:
                        part.requires_grad_(False)
            self.inputs = build_inputs = CLASSES.get(p.model, Decoder).batch(m, p)
        if p.precision == "pure":
            self.model.to(torch.bfloat16)
            self.inputs = [x.bfloat16() if x.is_floating_point() else x for x in build_inputs]
        self.model.train()
        if p.kernels == "compiled":
            torch._dynamo.reset()
            for name in ("stack", "encoder", "decoder"):
                stack = getattr(self.model, name, None)
                for i, layer in enumerate(stack.layers if stack is not None else []):
                    stack.layers[i] = torch.compile(layer, dynamic=False)
            if hasattr(self.model, "head"):
                self.model.head = torch.compile(self.model.head, dynamic=False)
        weights = [w for w in self.model.parameters() if w.requires_grad]
        self.optimizer = torch.optim.AdamW(weights, lr=1e-4, **(dict(fused=True) if cuda else {}))

    def kernels(self):
        if self.device != "cuda":
            return contextlib.nullcontext()
        from torch.nn.attention import SDPBackend as B, sdpa_kernel
        return sdpa_kernel([B.CUDNN_ATTENTION] if self.p.attention == "cudnn" else
                           [B.FLASH_ATTENTION, B.EFFICIENT_ATTENTION, B.MATH])

    def __call__(self):
        for _ in range(self.p.accum):
            with self.kernels():  # also in backward, where layers are computed again
                with torch.autocast(self.device, torch.bfloat16, enabled=self.p.precision == "bf16"):
                    loss = self.model(*self.inputs) / self.p.accum
                loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def timed(step, cuda, warm=3, count=20):
    """Median seconds of a step on the device, of the host that issues it, and their spread."""
    for i in range(warm):
        before = time.perf_counter()
        step()
        if cuda:
            torch.cuda.synchronize()
        last = time.perf_counter() - before
    count = max(4, min(count, int(3 / last)))
    if not cuda:
        return last, last, 0.0
    marks, host = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)], []
    marks[0].record()
    for mark in marks[1:]:
        before = time.perf_counter()
        step()
        mark.record()
        host.append(time.perf_counter() - before)
    torch.cuda.synchronize()
    times = [a.elapsed_time(b) / 1e3 for a, b in zip(marks, marks[1:])]
    return statistics.median(times), min(host), (max(times) - min(times)) / statistics.median(times)


def machine(device):
    if device != "cuda":
        return f"cpu, PyTorch {torch.__version__}"
    driver = os.popen("nvidia-smi --query-gpu=driver_version --format=csv,noheader").read().strip()
    return f"{torch.cuda.get_device_name()}, driver {driver}, PyTorch {torch.__version__}, {time.strftime('%Y-%m-%d')}"


COLUMNS = ("id group source framework model_family layers hidden heads kv_heads ffn_hidden vocab seq_len params_b experts "
           "topk gpu n_gpus gpus_per_node dp tp pp zero_stage micro_batch global_batch recompute precision "
           "flash_attention offload measured_metric measured_value also notes trust").split()


def row(m, p, number, where, parameters):
    h200 = "H200" in where
    fused = {"flash": "v2", "packed": "v2", "cudnn": "yes (cudnn)", "unfused": "no"}[p.attention]
    if p.precision in ("fp32", "tf32") and p.attention == "flash":
        # Flash attention is for 16 bits; the memory-efficient kernel of the same idea runs, but not for heads in groups.
        fused = "yes" if m.get("kv_heads", m.get("heads")) == m.get("heads") else "no"
    own = p.model in ("bert-large", "seq2seq")  # the others are trained without dropout
    return dict(group=f"{'one-h200' if h200 else 'one-device'}/{p.model}", source=f"tests/benchmarks/torch_steps.py on {where}",
                framework="PyTorch " + ("torch.compile of layers and head" if p.kernels == "compiled" else "eager"),
                model_family=m["family"], layers=m.get("layers", ""), hidden=m.get("hidden", ""),
                heads=m.get("heads", ""), kv_heads=m.get("kv_heads", m.get("heads", "")),
                ffn_hidden=m.get("ffn", 4 * m.get("hidden", 0)) or "", vocab=m.get("vocab", ""), seq_len=p.seq,
                params_b=f"{parameters * 1e-9:.9f}" if parameters else "", experts=m.get("experts", ""), topk=m.get("top_k", ""),
                gpu="H200" if h200 else "H100-SXM", n_gpus=1, gpus_per_node=1, dp=1, tp=1, pp=1, zero_stage=0, micro_batch=p.micro,
                global_batch=p.micro * p.accum, recompute="full" if p.full else "none",
                precision="bf16-nearest" if p.precision == "pure" else p.precision, flash_attention=fused,
                offload="none", trust="A", id=f"{'h200' if h200 else 'one'}-{number:03d}",
                notes=p.line + ("; dropout 0.1" if own else "; no dropout"))


def measure(p, number, where, options, write):
    m = p.shape(options.device == "cpu")
    cuda = options.device == "cuda"
    gc.collect()
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    began, step = time.perf_counter(), None
    try:
        step = Step(m, p, options.device)
        parameters = step.parameters
        seconds, host, spread = timed(step, cuda)
    except torch.cuda.OutOfMemoryError:
        parameters = step.parameters if step is not None else 0
        step = None
        write(dict(row(m, p, number, where, parameters), measured_metric="over_gb",
                   measured_value=f"{torch.cuda.mem_get_info()[1] / 2**30:.6g}"))
        print(f"{p.line:44} out of memory", flush=True)
        return
    gib = 2.0**30
    peak = torch.cuda.max_memory_allocated() / gib if cuda else 1.0
    held = torch.cuda.max_memory_reserved() / gib if cuda else 1.0
    free, whole = torch.cuda.mem_get_info() if cuda else (0, 2**30)
    used = (whole - free) / gib  # with the driver's context; what was reserved at most is still held
    also = f"host_s={host:.6g};spread={spread:.3g};allocated_gib={peak:.6g};reserved_gib={held:.6g}"
    one = dict(row(m, p, number, where, parameters), also=also)
    write(dict(one, measured_metric="step_s", measured_value=f"{seconds:.7g}"))
    write(dict(one, id=one["id"] + "-memory", measured_metric="mem_gb", measured_value=f"{used:.6g}"))
    print(f"{p.line:44} {parameters:>11} {seconds * 1e3:9.2f} ms  host {host * 1e3:8.2f}  spread {spread:6.1%}  "
          f"{peak:6.2f} {held:6.2f} {used:6.2f} GiB   took {time.perf_counter() - began:5.1f} s", flush=True)


def traces(folder, where, options, write):
    """Plans by Kineto and one by the allocator's history, each beside its step without them."""
    from torch.profiler import ProfilerActivity, profile, schedule
    for number, line in enumerate(("gpt2-124m 1 512 bf16 eager", "gpt2-124m 16 1024 bf16 eager",
                                   "gpt2-350m 8 1024 bf16 eager", "llama-1b 2 2048 bf16 eager")):
        p = Plan(line)
        m = p.shape(False)
        measure(p, 900 + number, where, options, write)
        step = Step(m, p, "cuda")
        for _ in range(3):
            step()
        torch.cuda.synchronize()
        path = os.path.join(folder, f"{p.model}-{p.micro}x{p.seq}.json.gz")
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                     schedule=schedule(wait=0, warmup=1, active=1),
                     on_trace_ready=lambda prof: prof.export_chrome_trace(path)) as prof:
            for _ in range(2):
                step()
                torch.cuda.synchronize()
                prof.step()
        step = None
    gc.collect()
    torch.cuda.empty_cache()
    p = Plan("gpt2-124m 4 1024 bf16 eager")
    measure(p, 904, where, options, write)
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.memory._record_memory_history(max_entries=60000, stacks="python", context=None)
    step = Step(p.shape(False), p, "cuda")
    for _ in range(2):
        step()
    torch.cuda.synchronize()
    torch.cuda.memory._dump_snapshot(os.path.join(folder, "snapshot.pickle"))
    torch.cuda.memory._record_memory_history(enabled=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=400, help="begins no plan after so long")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--trace", metavar="DIR")
    parser.add_argument("--out", default="steps.csv")
    options = parser.parse_args()
    if options.count:
        for name, m in MODELS.items():
            print(f"{name:12} {trained(build(m, Plan(f'{name} 1 1024 fp32 eager'))):>12}", flush=True)
        return
    began, where = time.perf_counter(), machine(options.device)
    with open(options.out, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()

        def write(line):
            writer.writerow(line)
            file.flush()

        if options.trace:
            return traces(options.trace, where, options, write)
        for number, line in enumerate(PLANS.split("\n")[1:-1]):
            if not any(words in line for words in options.only.split(",")):
                continue
            if time.perf_counter() - began > options.seconds:
                print(f"{line:44} not begun: time is up", flush=True)
                continue
            try:
                measure(Plan(line), number, where, options, write)
            except Exception as error:  # one plan that a release of PyTorch cannot run leaves the others
                print(f"{line:44} failed: {type(error).__name__}: {str(error).splitlines()[0][:200]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
