// The fields of a program's tables, each named once: the digest, the writer and the reader of its
// text are visitors f(key, value) of these lists. A slice of another table is not listed, because
// its entries follow their owner. A test counts the members of each struct, so that a new one
// cannot be left out.
#pragma once

#include "core/program/program.h"

namespace trainyard {

template <class F>
void fields(F& f, Program& p) {
  f("devices", p.devices);
  f("stages", p.stages);
  f("placement", p.placement);
  f("microbatches", p.microbatches);
  f("steps", p.steps);
  f("replicas", p.replicas);
  f("shard", p.shard);
}

template <class F>
void fields(F& f, Buffer& b) {
  f("name", b.name);
  f("stage", b.stage);
  f("device", b.device);
  f("category", b.category);
  f("provenance", b.provenance);
  f("persistent", b.persistent);
  f("bytes", b.bytes);
  f("holds", b.holds);
  f("layer", b.layer);
  f("item", b.item);
}

template <class F>
void fields(F& f, BufferPart& p) {
  f("name", p.name);
  f("bytes", p.bytes);
}

template <class F>
void fields(F& f, Task& t) {
  f("kind", t.kind);
  f("phase", t.phase);
  f("name", t.name);
  f("pass", t.pass);
  f("stage", t.stage);
  f("node", t.node);
  f("layer", t.layer);
  f("collective", t.collective);
  f("group", t.group);
  f("repeats", t.repeats);
  f("bytes", t.bytes);
  f("tensor", t.tensor);
  f("of_gradient", t.of_gradient);
  f("list", t.list);
  f("op", t.op);
}

template <class F>
void fields(F& f, WorkCount& w) {
  f("pass", w.pass);
  f("kind", w.work.kind);
  f("math", w.work.math);
  f("flops", w.work.flops.value);
  f("read", w.work.read);
  f("written", w.work.written);
  f("m", w.work.m);
  f("n", w.work.n);
  f("k", w.work.k);
  f("products", w.work.count);
  f("fill", w.work.fill);
  f("kernel", w.work.kernel);
  f("count", w.count);
  f("recomputed", w.recomputed);
}

/// The fields of an entry's text: `fields`, and what a price may read beside them. The digest
/// leaves that out, because it says nothing else of the program: documents that earlier versions
/// wrote keep theirs.
template <class F, class T>
void text_fields(F& f, T& entry) {
  fields(f, entry);
}
template <class F>
void text_fields(F& f, WorkCount& w) {
  fields(f, w);
  f("before", w.work.before);
  f("operator_stage", w.place.stage);
  f("core", w.place.core);
}
// The name of a collective of one step in several says their number, and that of a stage of
// operators names them.
template <class F>
void text_fields(F& f, Task& t) {
  fields(f, t);
  f("every", t.every);
  f("ops", t.ops);
}

template <class F>
void fields(F& f, MemoryEffect& e) {
  bool release = !e.allocate;
  f("buffer", e.buffer);
  f("release", release);
  f("at_end", e.at_end);
  e.allocate = !release;
}

template <class F>
void fields(F& f, Stream& s) {
  f("device", s.device);
  f("name", s.name);
  f("delay", s.delay);
  f("compute", s.compute);
}

template <class F>
void fields(F& f, Instruction& i) {
  f("task", i.task);
  f("microbatch", i.microbatch);
  f("wave", i.wave);
  f("weights", i.weights);
  f("peer", i.peer);
}

}  // namespace trainyard
